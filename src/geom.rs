//! Sizes, rectangles and levels. Together with `decode/plan.rs` the only place with rectangle arithmetic.

/// A level of quality: 0 is full resolution, each step up halves both sides (rounding up).
pub type Level = u8;

/// A width and a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Size {
    /// A size.
    pub const fn new(width: u32, height: u32) -> Self {
        Size { width, height }
    }

    /// The size `level` halvings up (each rounds up, so no side falls below 1).
    pub fn at_level(self, level: Level) -> Self {
        Size { width: ceil_shift(self.width, level), height: ceil_shift(self.height, level) }
    }

    /// The whole of it as a rectangle.
    pub fn rect(self) -> Rect {
        Rect { x: 0, y: 0, width: self.width, height: self.height }
    }

    /// Columns × rows.
    pub fn area(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

fn ceil_shift(v: u32, n: Level) -> u32 {
    ((u64::from(v) + (1u64 << n) - 1) >> n) as u32
}

/// A rectangle: columns `x..x + width`, rows `y..y + height`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// First column.
    pub x: u32,
    /// First row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Rect {
    /// A rectangle.
    pub const fn new(x: u32, y: u32, width: u32, height: u32) -> Self {
        Rect { x, y, width, height }
    }

    /// First column after it.
    pub fn right(self) -> u32 {
        self.x + self.width
    }

    /// First row after it.
    pub fn bottom(self) -> u32 {
        self.y + self.height
    }

    /// Its size.
    pub fn size(self) -> Size {
        Size { width: self.width, height: self.height }
    }

    /// Whether it has no samples.
    pub fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// Whether it lies wholly inside `size`; false too where its end exceeds 32 bits.
    pub fn fits(self, size: Size) -> bool {
        let within = |start: u32, len: u32, all: u32| start.checked_add(len).is_some_and(|end| end <= all);
        within(self.x, self.width, size.width) && within(self.y, self.height, size.height)
    }

    /// The smallest rectangle of cells of `w` × `h` samples that covers it.
    pub fn cells(self, w: u32, h: u32) -> Rect {
        if self.is_empty() {
            return Rect { x: self.x / w, y: self.y / h, width: 0, height: 0 };
        }
        let (x, y) = (self.x / w, self.y / h);
        Rect { x, y, width: self.right().div_ceil(w) - x, height: self.bottom().div_ceil(h) - y }
    }

    /// The samples one level up that it covers, in part or whole.
    pub fn parent(self) -> Rect {
        self.cells(2, 2)
    }

    /// The samples `level` levels up that it covers, in part or whole.
    pub fn at_level(self, level: Level) -> Rect {
        // Beyond 31 halvings every 32-bit coordinate is in cell 0.
        if level > 31 { self.cells(u32::MAX, u32::MAX) } else { self.cells(1 << level, 1 << level) }
    }

    /// `dx` more columns on the left and right, `dy` more rows above and below, as far as `size` has them.
    pub fn grow(self, dx: u32, dy: u32, size: Size) -> Rect {
        let (x, y) = (self.x.saturating_sub(dx), self.y.saturating_sub(dy));
        let right = self.right().saturating_add(dx).min(size.width);
        let bottom = self.bottom().saturating_add(dy).min(size.height);
        Rect { x, y, width: right - x, height: bottom - y }
    }

    /// What both have in common (empty where nothing).
    pub fn intersect(self, other: Rect) -> Rect {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let right = self.right().min(other.right()).max(x);
        let bottom = self.bottom().min(other.bottom()).max(y);
        Rect { x, y, width: right - x, height: bottom - y }
    }

    /// It, seen from an origin at (`x`, `y`), which must not lie right of or below its first sample.
    pub fn relative_to(self, x: u32, y: u32) -> Rect {
        Rect { x: self.x - x, y: self.y - y, ..self }
    }
}
