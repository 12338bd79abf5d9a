//! The only sample buffer type: a dense rectangle of samples in row order.

/// A rectangle of samples, row by row without padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid<T> {
    width: usize,
    height: usize,
    data: Vec<T>,
}

impl<T: Copy + Default> Grid<T> {
    /// A grid of `T::default()`.
    pub fn new(width: usize, height: usize) -> Self {
        Grid { width, height, data: vec![T::default(); width * height] }
    }

    /// A grid over samples that exist already.
    ///
    /// # Panics
    /// If `data.len() != width * height`.
    pub fn from_vec(width: usize, height: usize, data: Vec<T>) -> Self {
        assert_eq!(data.len(), width * height, "a grid's data must fill it");
        Grid { width, height, data }
    }

    /// Samples a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All samples, row by row.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// All samples, row by row, to change.
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The samples, without the grid.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Row `y`.
    pub fn row(&self, y: usize) -> &[T] {
        &self.data[y * self.width..][..self.width]
    }

    /// Row `y`, to change.
    pub fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.data[y * self.width..][..self.width]
    }

    /// The sample in column `x` of row `y`.
    pub fn at(&self, x: usize, y: usize) -> T {
        self.row(y)[x]
    }

    /// Changes the sample in column `x` of row `y`.
    pub fn set(&mut self, x: usize, y: usize, value: T) {
        self.row_mut(y)[x] = value;
    }

    /// The sample nearest to (`x`, `y`) inside the grid: edges repeat outwards.
    pub fn clamped(&self, x: isize, y: isize) -> T {
        let x = x.clamp(0, self.width as isize - 1) as usize;
        let y = y.clamp(0, self.height as isize - 1) as usize;
        self.at(x, y)
    }

    /// A copy of the rectangle of `width` × `height` samples whose first is (`x`, `y`).
    pub fn crop(&self, x: usize, y: usize, width: usize, height: usize) -> Self {
        let mut data = Vec::with_capacity(width * height);
        for row in y..y + height {
            data.extend_from_slice(&self.row(row)[x..x + width]);
        }
        Grid { width, height, data }
    }
}
