//! Trains every constant of the codec that comes from pictures, and writes them into the library's sources.
mod contexts;
mod family;
mod fit;
mod maps;
mod pictures;
mod predictors;
mod tiles;
mod write;

use std::path::{Path, PathBuf};
use std::time::Instant;

use stepwell::entropy::BANDS;
use stepwell::upsample::CLASSES;

use contexts::{Symbols, Weights, cells};
use family::Distribution;
use maps::{Histogram, Maps};
use pictures::{Picture, for_each_tile};
use predictors::{Slopes, Table, Weighting};
use tiles::Tile;

pub fn tune(name: &str, default: f64) -> f64 {
    std::env::var(name).map_or(default, |v| v.parse().unwrap())
}

/// Everything that is trained.
struct Trained {
    linear: Table,
    classed: Table,
    weights: Weights,
    maps: Maps,
}

/// What symbols of a tile are learned from
struct Learned {
    symbols: Symbols,
}

fn magnitudes(tile: &Tile, linear: &Table, classed: &Table) -> Vec<tiles::Bands<u32>> {
    let mut all = Vec::new();
    let tables = if tile.level == 0 { vec![linear, classed] } else { vec![classed] };
    for table in tables {
        let residuals = tile.residuals(table);
        for _ in 0..tune("LL", 1.0) as u32 { all.push(tile.lossless_magnitudes(&residuals)); }
        if tune("LOSSY", 0.0) > 0.0 { all.extend(tile.lossy_magnitudes(&residuals)); }
    }
    all
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

/// Mean bits a pixel
fn check(pictures: &[Picture], family: &[Distribution], trained: &Trained) -> [f64; 3] {
    let mut sums = vec![[const { None }; 3]; pictures.len()];
    let sums: &mut Vec<[Option<Histogram>; 3]> = &mut sums;
    let work = |tile: &Tile| {
        let set = tile.context_set();
        let of = |table: &Table| {
            let mut h = Histogram::default();
            cells(&tile.shape, &tile.lossless_magnitudes(&tile.residuals(table)), |cell| h.add(set, cell, cell.bucket(set, &trained.weights)));
            h
        };
        let (l, c) = (of(&trained.linear), of(&trained.classed));
        let b = if tile.level == 0 { l.clone() } else { c.clone() };
        [c, b, l]
    };
    for_each_tile(pictures, work, |p, t| for (s, t) in sums[p].iter_mut().zip(t) { s.get_or_insert_default().merge(&t) });
    let mut mean = [0.0; 3];
    for (s, p) in sums.iter().zip(pictures) { for (m, h) in mean.iter_mut().zip(s) { let h = h.as_ref().unwrap(); *m += h.bits(&h.best(family), family) / p.pixels() as f64 / pictures.len() as f64; } }
    mean
}

fn all(dir: &str) -> Vec<Picture> {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|p| Picture::read(p).unwrap()).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let pictures = all(&args[1]);
    let test = args.get(3).map_or(vec![], |d| all(d));
    let t = Instant::now();
    let family = family::family();
    let mut linear; let mut classed; let mut trained;
    if let Ok(d) = std::env::var("START") {
        let read = |f: &str, name: &str| -> Vec<i64> { let s = std::fs::read_to_string(format!("{d}/{f}")).unwrap(); let s = &s[s.find(&format!("pub const {name}:")).unwrap()..]; let s = &s[s.find("= ").unwrap()..]; let s = &s[..s.find(';').unwrap()];
            s.split(|c: char| !(c.is_ascii_digit() || c=='-')).filter(|w| !w.is_empty()).map(|w| w.parse().unwrap()).collect() };
        let table = |name: &str, classes| { let v = read("upsample.rs", name); Table { classes, coefficients: v.chunks(25).map(|c| std::array::from_fn(|i| c[i] as i16)).collect() } };
        let w = read("entropy.rs", "WEIGHTS"); let mut i = w.iter();
        let weights: Weights = std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| *i.next().unwrap() as u32)))));
        let m = read("entropy.rs", "DEFAULT_MAPS"); let mut i = m.iter();
        let maps: maps::Maps = std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| *i.next().unwrap() as u8)));
        trained = Trained { linear: table("LINEAR", 1), classed: table("CLASSED", 36), weights, maps };
    } else {
    linear = predictors::fit(&pictures, 1, &Weighting::Activity);
    classed = predictors::fit(&pictures, CLASSES, &Weighting::Activity);
    eprintln!("fit {:.1?}", t.elapsed());
    let s = symbols(&pictures, &linear, &classed);
    let mut weights = s.estimate();
    let mut maps = histogram(&pictures, &linear, &classed, &weights).best(&family);
    eprintln!("estimate {:.1?}", t.elapsed());
    weights = s.improve(&weights, &maps, &family);
    maps = histogram(&pictures, &linear, &classed, &weights).best(&family);
    trained = Trained { linear, classed, weights, maps };
    eprintln!("start {:.4?} {:.1?}", check(&test, &family, &trained), t.elapsed());
    }
    if tune("BASE", 0.0) > 0.0 { eprintln!("base {:.4?}", check(&test, &family, &trained)); }
    for round in 0..tune("ROUNDS", 3.0) as usize {
        let slopes = Slopes::new(trained.weights, &trained.maps, &family);
        if tune("LIN", 1.0) > 0.0 { linear = predictors::fit(&pictures, 1, &Weighting::Bits(&trained.linear, &slopes)); trained.linear = linear; }
        if tune("CLS", 1.0) > 0.0 { classed = predictors::fit(&pictures, CLASSES, &Weighting::Bits(&trained.classed, &slopes)); trained.classed = classed; }
        eprintln!("{round} {:.4?} {:.1?}", check(&test, &family, &trained), t.elapsed());
    }
    if tune("CTX", 1.0) > 0.0 { let s = symbols(&pictures, &trained.linear, &trained.classed);
    for _ in 0..tune("CTX", 1.0) as u32 {
    trained.weights = s.improve(&trained.weights, &trained.maps, &family);
    trained.maps = histogram(&pictures, &trained.linear, &trained.classed, &trained.weights).best(&family);
    eprintln!("end {:.4?} {:.1?}", check(&test, &family, &trained), t.elapsed());
    }
    }
    let out = PathBuf::from(&args[2]);
    std::fs::create_dir_all(&out).unwrap();
    use std::fmt::Write;
    let mut s = String::new();
    write!(s, "pub const CLASSED: = {:?};\npub const LINEAR: = {:?};\n", trained.classed.coefficients, trained.linear.coefficients).unwrap();
    std::fs::write(out.join("upsample.rs"), s).unwrap();
    let mut s = String::new();
    write!(s, "pub const WEIGHTS: = {:?};\npub const DEFAULT_MAPS: = {:?};\npub const FREQUENCIES: = {:?};\n", trained.weights, trained.maps, family.iter().map(|d| d.frequencies).collect::<Vec<_>>()).unwrap();
    std::fs::write(out.join("entropy.rs"), s).unwrap();
}
const _: usize = BANDS;
fn _x(_: &Path, _: Learned) {}
