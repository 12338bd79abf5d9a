//! Entropy stage: tile bytes ⇄ symbols. Interleaved rANS, one lane every two columns, contexts from the tile alone.

pub mod context;
pub mod cpu;
pub mod distribution;
pub mod encode;
pub mod fast;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod lanes;
pub mod model;
pub mod rows;
pub mod tables;
pub mod token;

pub use context::{BANDS, Place};
pub use lanes::TileShape;
pub use model::TileModel;

/// The symbols of one tile: three bands of quads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    columns: usize,
    rows: usize,
    data: Vec<i32>,
}

impl Symbols {
    /// All zero.
    pub fn new(shape: &TileShape) -> Self {
        Symbols { columns: shape.columns, rows: shape.rows, data: vec![0; BANDS * shape.quads()] }
    }

    /// The symbol at a place.
    pub fn at(&self, place: Place) -> i32 {
        self.row(place.band, place.row)[place.column]
    }

    /// Sets the symbol at a place.
    pub fn set(&mut self, place: Place, value: i32) {
        self.row_mut(place.band, place.row)[place.column] = value;
    }

    /// A row of quads of one band.
    pub fn row(&self, band: usize, row: usize) -> &[i32] {
        &self.data[(band * self.rows + row) * self.columns..][..self.columns]
    }

    /// A row of quads of one band, to change.
    pub fn row_mut(&mut self, band: usize, row: usize) -> &mut [i32] {
        &mut self.data[(band * self.rows + row) * self.columns..][..self.columns]
    }

    /// Whether every magnitude is at most [`token::NARROW_LIMIT`].
    pub fn is_narrow(&self) -> bool {
        self.data.iter().fold(0, |all, v| all | v.unsigned_abs()) <= token::NARROW_LIMIT
    }

    /// Whether every symbol is zero.
    pub fn is_zero(&self) -> bool {
        self.data.iter().all(|&v| v == 0)
    }
}

/// Why a tile's chunk cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TileFault {
    /// The chunk ends inside the lane states, or no lane is live.
    #[error("tile: lane states are cut off or all dead")]
    States,
    /// The chunk holds more or fewer words than the tile takes.
    #[error("tile: length does not fit its contents")]
    Length,
    /// A value is too large for a plane that is not wide.
    #[error("tile: a value beyond 16 bits")]
    Range,
    /// A lane does not end in the state the encoder began with.
    #[error("tile: a lane ends in a wrong state")]
    FinalState,
}
