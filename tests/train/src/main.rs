mod contexts;
mod family;
mod fit;
mod maps;
mod pictures;
mod predictors;
mod symbols;
use contexts::{Samples, index};
use maps::Histogram;
use pictures::*;
use predictors::*;
use rayon::prelude::*;
use stepwell::Grid;
use stepwell::entropy::BANDS;
use symbols::*;
use std::fmt::Write;

fn ev(name: &str, default: f64) -> f64 { std::env::var(name).map_or(default, |v| v.parse().unwrap()) }

/// All tile rows of all pictures unmirrored: collects f over tasks in order
fn over<T: Send>(pictures: &[Picture], table: &Table, f: impl Fn(&PlaneLevel, &std::ops::Range<usize>, &[Grid<u32>; BANDS], usize) -> T + Sync, mut g: impl FnMut(usize, T)) {
    let mut n = 0;
    for (p, picture) in pictures.iter().enumerate() {
        let levels = picture.levels(Mirror::NOT);
        let tasks: Vec<_> = levels.iter().flat_map(|l| tile_rows(l).map(move |y| (l, y))).collect();
        let done: Vec<T> = tasks.par_iter().enumerate().map(|(i, (level, rows))| {
            let left = residuals(level, rows, table);
            let m: [Grid<u32>; BANDS] = std::array::from_fn(|b| Grid::from_vec(left[b].width(), left[b].height(), left[b].data().iter().map(|&e| magnitude(e)).collect()));
            f(level, rows, &m, n + i)
        }).collect();
        n += tasks.len();
        done.into_iter().for_each(|t| g(p, t));
    }
}

fn collect(pictures: &[Picture], table: &Table) -> Samples {
    let mut all: Vec<Vec<contexts::Sample>> = vec![vec![]; 24];
    over(pictures, table, |level, rows, m, n| {
        let mut out = vec![vec![]; 24];
        let mut random = (n as u32).wrapping_mul(0x9e37_79b9) ^ 1;
        let set = level.context_set();
        cells(level, rows, m, |c| {
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            if (c.kind.1 == 1 && random >> 30 == 0) || random >> 28 == 0 {
                out[index(set, c.place.band, c.kind.0, c.kind.1)].push((c.terms.map(|t| t as f32), c.magnitude));
            }
        });
        out
    }, |_, t| all.iter_mut().zip(t).for_each(|(a, t)| a.extend(t)));
    Samples(all)
}

fn histogram(pictures: &[Picture], table: &Table, weights: &Weights) -> (Histogram, Vec<Histogram>) {
    let mut all = Histogram::default();
    let mut per: Vec<Histogram> = vec![Histogram::default(); pictures.len()];
    over(pictures, table, |level, rows, m, _| {
        let mut h = Histogram::default();
        let set = level.context_set();
        cells(level, rows, m, |c| h.add(set, c.place.band, c.bucket(set, weights), c.magnitude));
        h
    }, |p, t| { all.merge(&t, 1.0); per[p].merge(&t, 1.0) });
    (all, per)
}

fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let out = std::env::args().nth(2).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let pictures: Vec<Picture> = paths.iter().map(|p| Picture::read(p).unwrap()).collect();
    let eval: Vec<Picture> = std::env::var("EVAL").map_or(vec![], |d| { let mut p: Vec<_> = std::fs::read_dir(&d).unwrap().map(|e| e.unwrap().path()).collect(); p.sort(); p.iter().map(|p| Picture::read(p).unwrap()).collect() });
    let t = std::time::Instant::now();
    let family = family::family();
    let mirrors: &[Mirror] = match ev("MIRRORS", 1.0) as u32 { 1 => &[Mirror::NOT], 2 => &Mirror::ALL[..2], _ => &Mirror::ALL };
    let pass = |classes| Pass { mirrors, classes, pseudo: ev("PSEUDO", 1000.0), ridge: ev("RIDGE", 1e-6), step: ev("STEP", 3.0) as usize, picture_power: ev("PPOW", 0.0) };
    let quick = |classes| Pass { mirrors: &[Mirror::NOT], step: 3, ..pass(classes) };
    let power = ev("POWER", 1.0);
    let report = |name: &str, table: &Table, weights: &Weights, maps: Option<&maps::Maps>| {
        let best = if maps.is_none() { histogram(&pictures, table, weights).0.best(&family) } else { *maps.unwrap() };
        let mean = 0.0;
        let (_, per) = histogram(&eval, table, weights);
        let mean2 = per.iter().zip(&eval).map(|(h, p)| h.bits(&h.best(&family), &family) / p.pixels() as f64).sum::<f64>() / eval.len() as f64;
        eprintln!("{name} train {:.4} test {:.4} bpp {:.1?}", mean, mean2, t.elapsed());
        best
    };
    let mut cls;
    let start = std::env::var("START").ok().map(|d| {
        let read = |f: &str, name: &str| -> Vec<i64> { let s = std::fs::read_to_string(format!("{d}/{f}")).unwrap(); let s = &s[s.find(&format!("pub const {name}:")).unwrap()..]; let s = &s[s.find("= ").unwrap()..]; let s = &s[..s.find(';').unwrap()];
            s.split(|c: char| !(c.is_ascii_digit() || c=='-')).filter(|w| !w.is_empty()).map(|w| w.parse().unwrap()).collect() };
        let table = |name: &str, classes| { let v = read("upsample.rs", name); Table { classes, coefficients: v.chunks(25).map(|c| std::array::from_fn(|i| c[i] as i16)).collect() } };
        let w = read("entropy.rs", "WEIGHTS"); let mut i = w.iter();
        let weights: Weights = std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| *i.next().unwrap() as u32)))));
        let m = read("entropy.rs", "DEFAULT_MAPS"); let mut i = m.iter();
        let maps: maps::Maps = std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| *i.next().unwrap() as u8)));
        (table("LINEAR", 1), table("CLASSED", 36), weights, maps) });
    let (mut weights, mut maps);
    let mut lin;
    let fit_contexts = |cls: &Table| {
        let s = collect(&pictures, cls);
        let mut weights = contexts::fit(&s, power);
        let mut maps = report("weights", cls, &weights, None);
        for _ in 0..ev("DESCENT", 0.0) as u32 {
            weights = contexts::descend(&s, &weights, &maps, &family);
            maps = report("descent", cls, &weights, None);
        }
        (weights, maps)
    };
    if let Some(t) = start { (lin, cls, weights, maps) = t; } else {
    lin = quick(1).run(&pictures, &Weighting::Activity);
    for _ in 0..ev("IRLS", 1.0) as u32 { lin = quick(1).run(&pictures, &Weighting::Residual(&lin)); }
    cls = quick(36).run(&pictures, &Weighting::Activity);
    for _ in 0..ev("IRLS", 1.0) as u32 { cls = quick(36).run(&pictures, &Weighting::Residual(&cls)); }
        (weights, maps) = fit_contexts(&cls);
    }
    if ev("BASE", 0.0) > 0.0 { report("classed", &cls, &weights, Some(&maps)); report("linear", &lin, &weights, Some(&maps)); }
    for _ in 0..ev("REFINE", 0.0) as u32 {
        let lengths = Lengths::new(&weights, &maps, &family, ev("DELTA", 0.5));
        for _ in 0..ev("INNER", 1.0) as u32 {
            if ev("CLS", 1.0) > 0.0 { cls = pass(36).run(&pictures, &Weighting::Lengths(&cls, &lengths));
            report("refined classed", &cls, &weights, Some(&maps)); }
            if ev("LIN", 1.0) > 0.0 { lin = pass(1).run(&pictures, &Weighting::Lengths(&lin, &lengths));
            report("refined linear", &lin, &weights, Some(&maps)); }
        }
        if ev("DESCENT", 0.0) > 0.0 { (weights, maps) = fit_contexts(&cls); }
    }
    let mut s = String::new();
    write!(s, "pub const CLASSED: = {:?};\npub const LINEAR: = {:?};\n", cls.coefficients, lin.coefficients).unwrap();
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(format!("{out}/upsample.rs"), s).unwrap();
    let mut s = String::new();
    write!(s, "pub const WEIGHTS: = {weights:?};\npub const DEFAULT_MAPS: = {maps:?};\npub const FREQUENCIES: = {:?};\n", family.iter().map(|d| d.frequencies).collect::<Vec<_>>()).unwrap();
    std::fs::write(format!("{out}/entropy.rs"), s).unwrap();
}
