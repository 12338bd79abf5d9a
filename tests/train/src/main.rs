mod fit;
mod pictures;
mod predictors;
use pictures::*;
use predictors::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let pictures: Vec<Picture> = paths.iter().map(|p| Picture::read(p).unwrap()).collect();
    let t = std::time::Instant::now();
    let mut lin = pass(&pictures, &[Mirror::NOT], None, 1, None, 1e-5);
    eprintln!("{:?}", t.elapsed());
    for _ in 0..2 { lin = pass(&pictures, &[Mirror::NOT], Some(&lin), 1, None, 1e-5); }
    eprintln!("{:?}", t.elapsed());
    println!("pub const LINEAR: [[Coefficients; BANDS]; SETS] = [");
    for set in 0..4 { println!("    ["); for band in 0..3 { println!("        {:?},", lin.at(set, band, 0)); } println!("    ],"); }
    println!("];");
}
