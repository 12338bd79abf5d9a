//! The picture under construction: readers hand it interleaved samples, row by row.

use stepwell::{Error, Grid, Image, Limits, Metadata, Plane, PlaneInfo, PlaneKind, Size};

use super::Fault;

/// Planes that a reader fills.
pub struct Planes {
    size: Size,
    planes: Vec<Plane>,
}

impl Planes {
    /// Zeroed planes of one size, if they are within the limits and fit into memory.
    ///
    /// A few bytes of a hostile header can ask for terabytes, so this comes before any pixel is decoded.
    /// The pages are not touched: a file that ends early costs no more memory than what it held.
    pub fn new(size: Size, infos: Vec<PlaneInfo>, limits: &Limits) -> Result<Self, Fault> {
        if size.width == 0 || size.height == 0 {
            return Err(Fault::broken(format!("its size is {} × {} pixels", size.width, size.height)));
        }
        let count = size.area().saturating_mul(infos.len() as u64);
        if count > limits.samples {
            return Err(
                Error::Limit { what: "number of samples", asked: count, allowed: limits.samples }.into()
            );
        }
        let mut planes = Vec::with_capacity(infos.len());
        for info in infos {
            let area = usize::try_from(size.area()).map_err(|_| Fault::memory(count))?;
            // `vec!` would end the program where memory is short: ask first.
            Vec::<i32>::new().try_reserve_exact(area).map_err(|_| Fault::memory(count))?;
            let samples = Grid::new(size.width as usize, size.height as usize);
            planes.push(Plane { info, samples });
        }
        Ok(Planes { size, planes })
    }

    /// Full-resolution unsigned planes of one depth.
    pub fn unsigned(size: Size, kinds: &[PlaneKind], depth: u8, limits: &Limits) -> Result<Self, Fault> {
        Self::new(size, kinds.iter().map(|&kind| PlaneInfo::new(kind, depth)).collect(), limits)
    }

    /// Number of planes.
    pub fn count(&self) -> usize {
        self.planes.len()
    }

    /// Stores pixels of row `y` from column `x` on; `samples` are interleaved.
    pub fn put_row<T: Copy + Into<i32>>(&mut self, x: usize, y: usize, samples: &[T]) {
        let count = self.planes.len();
        for (i, plane) in self.planes.iter_mut().enumerate() {
            let row = &mut plane.samples.row_mut(y)[x..];
            for (to, from) in row.iter_mut().zip(samples[i..].iter().step_by(count)) {
                *to = (*from).into();
            }
        }
    }

    /// Stores pixels of row `y` of one plane from column `x` on.
    pub fn put_plane_row(&mut self, plane: usize, x: usize, y: usize, samples: &[i32]) {
        self.planes[plane].samples.row_mut(y)[x..][..samples.len()].copy_from_slice(samples);
    }

    /// The planes, to change what a later part of the file says about them.
    pub fn planes_mut(&mut self) -> &mut [Plane] {
        &mut self.planes
    }

    /// The picture.
    pub fn finish(self, metadata: Metadata) -> Result<Image, Fault> {
        let image = Image { size: self.size, planes: self.planes, metadata };
        // A sample beyond its depth: the library words it as a fault of the request, but the file asked for it.
        image.check().map_err(|e| Fault::Bad(e.to_string(), None))?;
        Ok(image)
    }
}
