//! Trains every constant of the codec that comes from pictures, and writes them into the library's sources.
//!
//! ```sh
//! python3 tests/bench/photos.py        # makes the pictures, among them target/bench/photos/train
//! make train TRAIN="target/bench/photos/train src"
//! ```
//!
//! The pictures are the binary PPM files of a folder, taken by name. Those that the tables in the sources come from are
//! the set `train` of `tests/bench/photos.py`: 21 photographs, none of them in the set `test` that figures are measured
//! on. The same pictures give the same bytes, whatever the number of threads.
//!
//! 1. The family of token distributions is computed (`family.rs`).
//! 2. Predictors are fitted by weighted least squares, residuals where pictures are smooth counting most.
//! 3. Contexts are fitted to the symbols that are left: weights, then which distribution a row of buckets uses.
//! 4. Predictors are fitted again, now weighed by the bits that a residual costs where it stands; twice.
//! 5. Contexts are fitted to what that leaves.

mod contexts;
mod family;
mod fit;
mod maps;
mod pictures;
mod predictors;
mod tiles;
mod write;

use std::fmt::Debug;
use std::path::Path;
use std::process::ExitCode;

use stepwell::entropy::BANDS;
use stepwell::upsample::CLASSES;

use contexts::{Symbols, Weights, cells};
use family::Distribution;
use maps::{Histogram, Maps};
use pictures::{Picture, for_each_tile};
use predictors::{Reach, Slopes, Table, Weighting};
use tiles::Tile;

/// Fits of the predictors to the bits that residuals cost.
const ROUNDS: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pictures, sources] = &arguments[..] else {
        eprintln!("usage: stepwell-train FOLDER_OF_PPM_FILES FOLDER_OF_THE_LIBRARYS_SOURCES");
        return ExitCode::from(2);
    };
    match run(Path::new(pictures), Path::new(sources)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, sources: &Path) -> Result<(), String> {
    let pictures = read_all(folder)?;
    let family = family::family();
    let trained = train(&pictures, &family);
    let frequencies: Vec<_> = family.iter().map(|d| d.frequencies).collect();
    let weights = trained.weights.as_flattened().as_flattened();
    let entropy = sources.join("entropy/tables.rs");
    replace(&entropy, "WEIGHTS", &[BANDS, 2], weights)?;
    replace(&entropy, "DEFAULT_MAPS", &[BANDS], trained.maps.as_flattened())?;
    replace(&entropy, "FREQUENCIES", &[], &frequencies)?;
    let upsample = sources.join("upsample/tables.rs");
    replace(&upsample, "CLASSED", &[BANDS, CLASSES], &trained.classed.coefficients)?;
    replace(&upsample, "LINEAR", &[BANDS], &trained.linear.coefficients)?;
    replace(&upsample, "COMPACT", &[BANDS], &trained.compact.coefficients)
}

/// Everything that is trained.
struct Trained {
    compact: Table,
    linear: Table,
    classed: Table,
    weights: Weights,
    maps: Maps,
}

fn train(pictures: &[Picture], family: &[Distribution]) -> Trained {
    eprintln!("{} pictures: predictors", pictures.len());
    let mut compact = predictors::fit(pictures, Reach::Inner, 1, &Weighting::Activity);
    let mut linear = predictors::fit(pictures, Reach::Whole, 1, &Weighting::Activity);
    let mut classed = predictors::fit(pictures, Reach::Whole, CLASSES, &Weighting::Activity);
    eprintln!("contexts");
    let weights = symbols(pictures, &linear, &classed).estimate();
    let maps = histogram(pictures, &linear, &classed, &weights).best(family);
    let (mut weights, mut maps) = improve(pictures, &linear, &classed, (&weights, &maps), family);
    for round in 1..=ROUNDS {
        eprintln!("predictors by bits, round {round} of {ROUNDS}");
        let slopes = Slopes::new(weights, &maps, family);
        compact = predictors::fit(pictures, Reach::Inner, 1, &Weighting::Bits(&compact, &slopes));
        linear = predictors::fit(pictures, Reach::Whole, 1, &Weighting::Bits(&linear, &slopes));
        classed = predictors::fit(pictures, Reach::Whole, CLASSES, &Weighting::Bits(&classed, &slopes));
    }
    eprintln!("contexts");
    (weights, maps) = improve(pictures, &linear, &classed, (&weights, &maps), family);
    Trained { compact, linear, classed, weights, maps }
}

/// Weights that take fewer bits with some maps, and the best maps for them.
fn improve(
    pictures: &[Picture],
    linear: &Table,
    classed: &Table,
    (weights, maps): (&Weights, &Maps),
    family: &[Distribution],
) -> (Weights, Maps) {
    let weights = symbols(pictures, linear, classed).improve(weights, maps, family);
    let maps = histogram(pictures, linear, classed, &weights).best(family);
    (weights, maps)
}

/// The magnitudes of a tile with each predictor that files use for its level.
fn magnitudes(tile: &Tile, linear: &Table, classed: &Table) -> Vec<tiles::Bands<u32>> {
    let tables = if tile.level == 0 { vec![linear, classed] } else { vec![classed] };
    tables.into_iter().map(|table| tile.lossless_magnitudes(&tile.residuals(table))).collect()
}

fn symbols(pictures: &[Picture], linear: &Table, classed: &Table) -> Symbols {
    let mut all = Symbols::default();
    let work = |tile: &Tile| {
        let mut symbols = Symbols::default();
        for magnitudes in magnitudes(tile, linear, classed) {
            cells(&tile.shape, &magnitudes, |cell| symbols.add(tile.context_set(), cell));
        }
        symbols
    };
    for_each_tile(pictures, work, |_, symbols| all.merge(symbols));
    all
}

fn histogram(pictures: &[Picture], linear: &Table, classed: &Table, weights: &Weights) -> Histogram {
    let mut all = Histogram::default();
    let work = |tile: &Tile| {
        let mut histogram = Histogram::default();
        let set = tile.context_set();
        for magnitudes in magnitudes(tile, linear, classed) {
            cells(&tile.shape, &magnitudes, |cell| histogram.add(set, cell, cell.bucket(set, weights)));
        }
        histogram
    };
    for_each_tile(pictures, work, |_, histogram| all.merge(&histogram));
    all
}

fn read_all(folder: &Path) -> Result<Vec<Picture>, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let mut paths = entries.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "ppm"));
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{}: no PPM files", folder.display()));
    }
    paths.iter().map(|path| Picture::read(path)).collect()
}

/// Replaces a table in a source file.
fn replace(path: &Path, name: &str, groups: &[usize], lines: &[impl Debug]) -> Result<(), String> {
    let fail = |e: String| format!("{}: {e}", path.display());
    let source = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
    let replaced = write::replace(&source, name, groups, lines).map_err(fail)?;
    let new = path.with_extension("rs.new");
    std::fs::write(&new, replaced).and_then(|()| std::fs::rename(&new, path)).map_err(|e| fail(e.to_string()))
}
