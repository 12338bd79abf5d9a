//! The residual and upsample stages on the GPU: what their kernel needs to know. Kernel: `shaders/upsample.wgsl`.

use super::cpu::Parameters;
use super::{CLASSES, Coefficients, NEIGHBOURS, Predictor, SETS};
use crate::entropy::{BANDS, TileModel, TileShape};
use crate::gpu::abi::{self, NOTHING, PREDICTOR_CLASSED, PREDICTOR_LINEAR, PREDICTOR_NONE, WINDOW_VECTORS};
use crate::residual::Quantiser;

/// Predictors without classes, whose coefficients stand before those of the classed one.
const UNCLASSED: [Predictor; 2] = [Predictor::Linear, Predictor::Compact];

/// Kernels of the upsample stage, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Predictors without classes, lossless, planes of at most 14 bits, none predicted from another.
    Exact,
    /// The same with quantisers, and planes predicted from planes before.
    Linear,
    /// Everything.
    Any,
}

impl Kind {
    /// For a level of a plane.
    pub fn of(parameters: &Parameters, model: &TileModel) -> Kind {
        match parameters.predictor {
            Predictor::Classed => Kind::Any,
            _ if !parameters.scale.wraps || model.wide => Kind::Any,
            _ if parameters.cross.count > 0 || parameters.quantiser != Quantiser::LOSSLESS => Kind::Linear,
            _ => Kind::Exact,
        }
    }
}

/// Every predictor without classes, set and band.
fn unclassed() -> impl Iterator<Item = (Predictor, usize, usize)> {
    let sets = UNCLASSED.into_iter().flat_map(|predictor| (0..SETS).map(move |set| (predictor, set)));
    sets.flat_map(|(predictor, set)| (0..BANDS).map(move |band| (predictor, set, band)))
}

/// The predictors without classes as WGSL constants `LINEAR_set_band`, for kernels that have them as literals.
pub fn linear_constants() -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for (i, (predictor, set, band)) in unclassed().enumerate() {
        let vectors = window_vectors(predictor.coefficients(set, band, 0));
        let vector = |v: &[i32]| format!("vec4<i32>({}, {}, {}, {})", v[0], v[1], v[2], v[3]);
        let all: Vec<String> = vectors.chunks_exact(4).map(vector).collect();
        let _ = writeln!(out, "const LINEAR_{}_{band} = Taps({});", i / BANDS, all.join(", "));
    }
    out
}

/// Coefficients as the kernel reads them, seven vectors of four a window: predictors without classes by set and band,
/// then the classed one by set, band and class.
pub fn coefficient_vectors() -> Vec<i32> {
    let mut out = Vec::new();
    for (predictor, set, band) in unclassed() {
        out.extend(window_vectors(predictor.coefficients(set, band, 0)));
    }
    for (set, band) in (0..SETS).flat_map(|set| (0..BANDS).map(move |band| (set, band))) {
        for class in 0..CLASSES {
            out.extend(window_vectors(Predictor::Classed.coefficients(set, band, class)));
        }
    }
    out
}

/// Columns 0 to 3 of each row; column 4 of rows 0 to 3; column 4 of row 4, and the coefficient of H0. The centre's
/// makes differences to it out of samples.
fn window_vectors(coefficients: &Coefficients) -> [i32; 4 * WINDOW_VECTORS] {
    let neighbours = &coefficients[..NEIGHBOURS];
    let centre = -neighbours.iter().map(|&c| i32::from(c)).sum::<i32>();
    let (before, after) = neighbours.split_at(NEIGHBOURS / 2);
    let raster: Vec<i32> =
        before.iter().map(|&c| c.into()).chain([centre]).chain(after.iter().map(|&c| c.into())).collect();
    let mut out = [0; 4 * WINDOW_VECTORS];
    for (i, &c) in raster.iter().enumerate() {
        let (row, column) = (i / 5, i % 5);
        out[if column < 4 { 4 * row + column } else { 20 + row }] = c;
    }
    out[25] = coefficients[NEIGHBOURS].into();
    out
}

/// What the kernel needs of a level of a plane.
pub fn plane_record(parameters: &Parameters) -> abi::Plane {
    let Parameters { predictor, set, scale, quantiser, cross } = parameters;
    let unclassed = UNCLASSED.iter().position(|p| p == predictor).map(|i| i * SETS + set);
    let (kind, start, band_stride) = match (unclassed, predictor) {
        (Some(set), _) => (PREDICTOR_LINEAR, set * BANDS * WINDOW_VECTORS, WINDOW_VECTORS),
        (None, Predictor::Classed) => {
            let band = CLASSES * WINDOW_VECTORS;
            (PREDICTOR_CLASSED, UNCLASSED.len() * SETS * BANDS * WINDOW_VECTORS + set * BANDS * band, band)
        }
        _ => (PREDICTOR_NONE, 0, 0),
    };
    let factors = |i: usize| {
        let bytes = cross.factors.map(|factors| factors[i] as u8);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
    };
    abi::Plane {
        predictor: kind,
        coefficients: start as u32,
        band_stride: band_stride as u32,
        sample_shift: scale.sample_shift,
        activity_shift: scale.activity_shift,
        step_v: quantiser.steps[0],
        step_h0: quantiser.steps[1],
        step_h1: quantiser.steps[2],
        near: factors(0),
        far: factors(1),
        linear_set: unclassed.map_or(NOTHING, |set| set as u32),
        wraps: scale.wraps.into(),
    }
}

/// Rows of quads that a workgroup rebuilds: two to an invocation.
const fn strip_rows(tile_log2: u32) -> u32 {
    2 * (256 >> tile_log2)
}

/// The strips of a tile, as [`abi::Block::strip`] says them.
pub fn strips(shape: &TileShape) -> impl Iterator<Item = u32> {
    let (rows, tile_log2) = (shape.rows as u32, shape.tile_log2);
    let most = strip_rows(tile_log2);
    (0..rows).step_by(most as usize).map(move |first| first | most.min(rows - first) << 8 | tile_log2 << 16)
}
