//! `stepwell info`

use std::fmt::Write;

use serde::Serialize;
use stepwell::container::Header;
use stepwell::{PlaneInfo, Request};

use crate::args::Info;
use crate::codec::{self, File};
use crate::failure::{Failure, Result};
use crate::planes::kind_name;
use crate::ui::{self, Context};

#[derive(Serialize)]
struct Report {
    version: u16,
    file_length: u64,
    /// In hexadecimal: JSON readers round integers of 64 bits.
    content_id: String,
    width: u32,
    height: u32,
    lossless: bool,
    bits_per_pixel: f64,
    levels: u8,
    tile_size: u32,
    orientation: u8,
    /// Metres a pixel covers.
    pixel_size: Option<(f64, f64)>,
    /// Colour primaries, transfer characteristics, matrix coefficients, full range.
    cicp: Option<(u8, u8, u8, bool)>,
    icc_bytes: usize,
    exif_bytes: usize,
    xmp_bytes: usize,
    planes: Vec<PlaneReport>,
    loqs: Vec<LoqReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Vec<LevelReport>>,
}

#[derive(Serialize)]
struct PlaneReport {
    plane: usize,
    kind: &'static str,
    name: String,
    depth: u8,
    signed: bool,
    subsampling: (u8, u8),
}

#[derive(Serialize)]
struct LoqReport {
    loq: u8,
    width: u32,
    height: u32,
    prefix_bytes: u64,
}

#[derive(Serialize)]
struct LevelReport {
    level: u8,
    tiles: u64,
    chunks: u64,
    empty_chunks: u64,
    index_bytes: u64,
    payload_bytes: u64,
}

/// Prints what a file holds.
pub fn run(args: &Info, context: &Context) -> Result<()> {
    let file = codec::open(&args.input, context)?;
    let report = report(&file, args.index).map_err(|e| Failure::library(&args.input, e))?;
    if args.json { ui::print_json(&report) } else { ui::print(&text(&report)) }
}

fn report(file: &File, with_index: bool) -> stepwell::Result<Report> {
    let header = file.header();
    let size = file.size();
    let metadata = file.metadata()?;
    let length = |block: &Option<Vec<u8>>| block.as_ref().map_or(0, Vec::len);
    Ok(Report {
        version: header.version,
        file_length: header.file_length,
        content_id: format!("{:016x}", header.content_id),
        width: size.width,
        height: size.height,
        lossless: codec::is_lossless(header),
        bits_per_pixel: header.file_length as f64 * 8.0 / size.area() as f64,
        levels: header.levels,
        tile_size: 2 << header.tile_log2(0),
        orientation: header.orientation,
        pixel_size: header.pixel_size,
        cicp: header.cicp.map(|c| (c.primaries, c.transfer, c.matrix, c.full_range)),
        icc_bytes: length(&metadata.icc),
        exif_bytes: length(&metadata.exif),
        xmp_bytes: length(&metadata.xmp),
        planes: header.planes.iter().enumerate().map(plane_report).collect(),
        loqs: loq_reports(header),
        index: if with_index { Some(level_reports(file)?) } else { None },
    })
}

fn plane_report((plane, info): (usize, &PlaneInfo)) -> PlaneReport {
    PlaneReport {
        plane,
        kind: kind_name(info.kind),
        name: info.name.clone(),
        depth: info.depth,
        signed: info.signed,
        subsampling: info.subsampling,
    }
}

fn loq_reports(header: &Header) -> Vec<LoqReport> {
    let of = |(loq, entry): (usize, &stepwell::container::header::LevelEntry)| {
        let size = header.window.at_level(loq as u8).size();
        LoqReport { loq: loq as u8, width: size.width, height: size.height, prefix_bytes: entry.prefix }
    };
    header.entries.iter().enumerate().map(of).collect()
}

/// The levels below the root, finest first.
fn level_reports(file: &File) -> stepwell::Result<Vec<LevelReport>> {
    let plan = file.plan(&Request::default())?;
    let levels = 0..file.header().levels;
    let of = |level: u8| {
        let plans = plan.groups.iter().flat_map(|g| &g.levels).filter(|l| l.level == level);
        let mut report = LevelReport {
            level,
            tiles: 0,
            chunks: 0,
            empty_chunks: 0,
            index_bytes: file.header().entries[usize::from(level)].index_bytes,
            payload_bytes: 0,
        };
        for level in plans {
            report.tiles += level.tiles.size().area();
            report.chunks += level.chunks.len() as u64;
            report.empty_chunks += level.chunks.iter().filter(|c| c.bytes == 0).count() as u64;
            report.payload_bytes += level.chunks.iter().map(|c| u64::from(c.bytes)).sum::<u64>();
        }
        report
    };
    Ok(levels.map(of).collect())
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        writeln!(text, "{name:<12}{value}").expect("a string takes everything");
    };
    line("size", format!("{} × {} pixels", report.width, report.height));
    let kind = if report.lossless { "lossless" } else { "lossy" };
    line(
        "file",
        format!("{}, {kind}, {:.3} bits a pixel", ui::bytes(report.file_length), report.bits_per_pixel),
    );
    line(
        "format",
        format!(
            "version {}, {} levels, tiles of {} samples a side",
            report.version, report.levels, report.tile_size
        ),
    );
    line("content id", report.content_id.clone());
    for p in &report.planes {
        line(&format!("plane {}", p.plane), describe_plane(p));
    }
    if report.orientation > 1 {
        line("orientation", format!("{} (Exif); pixels are stored unrotated", report.orientation));
    }
    if let Some((x, y)) = report.pixel_size {
        line("pixel", format!("{x:.6e} × {y:.6e} m ({:.1} × {:.1} dpi)", 0.0254 / x, 0.0254 / y));
    }
    if let Some((primaries, transfer, matrix, _)) = report.cicp {
        line("colours", format!("CICP {primaries}/{transfer}/{matrix}"));
    }
    for (name, bytes) in [("ICC", report.icc_bytes), ("Exif", report.exif_bytes), ("XMP", report.xmp_bytes)] {
        if bytes > 0 {
            line(name, ui::bytes(bytes as u64));
        }
    }
    text.push_str("\n LoQ          size   bytes from the start\n");
    for l in &report.loqs {
        let size = format!("{} × {}", l.width, l.height);
        let part = 100.0 * l.prefix_bytes as f64 / report.file_length as f64;
        writeln!(text, "{:>4} {size:>13} {:>14} {part:>6.1} %", l.loq, l.prefix_bytes)
            .expect("a string takes everything");
    }
    if let Some(levels) = &report.index {
        text.push_str("\nlevel      tiles     chunks      empty   index bytes  payload bytes\n");
        for l in levels {
            let (tiles, chunks, empty) = (l.tiles, l.chunks, l.empty_chunks);
            writeln!(
                text,
                "{:>5} {tiles:>10} {chunks:>10} {empty:>10} {:>13} {:>14}",
                l.level, l.index_bytes, l.payload_bytes
            )
            .expect("a string takes everything");
        }
    }
    text
}

fn describe_plane(plane: &PlaneReport) -> String {
    let signed = if plane.signed { ", signed" } else { "" };
    let name = if plane.name.is_empty() { String::new() } else { format!(" “{}”", plane.name) };
    let sampling = match plane.subsampling {
        (1, 1) => String::new(),
        (x, y) => format!(", a sample every {x} × {y} pixels"),
    };
    format!("{}{name}, {} bits{signed}{sampling}", plane.kind, plane.depth)
}
