//! The command line: what can be asked for.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use stepwell::{Backend, EncodeOptions, Profile, Rect, Target};

use crate::input::raw::Shape;
use crate::output::Format;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed (of several files: any), 2 wrong command line, 3 broken or unsupported
input file, 130 cancelled. A file name of - is standard input or output.";

/// Any size, region and plane of a picture from one file
#[derive(Debug, Parser)]
#[command(name = "stepwell", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of all commands.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of all commands")]
pub struct Global {
    /// Use at most N threads [default: one a core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Show no progress and no remarks
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Lift the limits on samples and memory (4 giga-samples, 16 GiB): for files you trust
    #[arg(long, global = true)]
    pub no_limits: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Encode(Encode),
    Decode(Decode),
    Extract(Extract),
    Transcode(Transcode),
    Info(Info),
    Verify(Verify),
    Compare(Compare),
    Bench(Bench),
    Bisect(Bisect),
    Completions(Completions),
}

/// Encode pictures: PNG, JPEG, TIFF, PNM, PAM, WebP, raw samples
///
/// Lossless unless told otherwise. Samples are taken as they are stored, at their true depth: 1 to 16 bits of PNG and PNM, 1 to 31 bits of TIFF,
/// signed too. Palettes become RGB. CMYK JPEG is refused. ICC, Exif, XMP, orientation and physical size are kept;
/// pixels are not rotated. Existing outputs are replaced once the new ones are complete.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stepwell encode photo.png -o photo.swl
  stepwell encode *.tif -o folder/ --quality 90
  stepwell encode - -o photo.swl --size 500k <photo.jpg
  stepwell encode scan.bin --raw 4096x4096x1:12le -o scan.swl")]
pub struct Encode {
    /// Pictures to encode
    #[arg(required = true, value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// Where to write; a folder for several pictures (created if need be)
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub settings: Settings,
    /// The inputs are samples without a header: WxHxPLANES:BITS[s][le|be][,planar]
    ///
    /// Samples of up to 8, 16 and 31 bits take 1, 2 and 4 bytes; s: signed; le (default) or be: order of bytes;
    /// planar: one plane after the other instead of pixel by pixel.
    #[arg(long, value_name = "SHAPE")]
    pub raw: Option<Shape>,
    /// Print what was written as JSON
    #[arg(long)]
    pub json: bool,
}

/// How large or how good a file shall be.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// At most F bits a pixel
    #[arg(long, value_name = "F", group = "target")]
    pub bpp: Option<f64>,
    /// At most N bytes (suffix k: thousand, M: million)
    #[arg(long, value_name = "N[k|M]", group = "target", value_parser = parse_bytes)]
    pub size: Option<u64>,
    /// Quality of 0 to 100; no difference is seen from 90 on
    #[arg(long, value_name = "Q", group = "target")]
    pub quality: Option<f32>,
    /// Settings for a purpose [default: lossless]
    #[arg(long, value_enum)]
    pub preset: Option<Preset>,
    /// Save about 1 % of the bytes, at about two thirds of the speed of decoding
    #[arg(long)]
    pub small: bool,
    /// Decode fastest: 0.1 % more bytes where lossless, more where lossy
    #[arg(long, conflicts_with = "small")]
    pub fast: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Preset {
    /// Every sample comes back exactly
    Lossless,
    /// No difference is seen (quality 90)
    VisuallyLossless,
    /// Loads fast in pages (quality 60)
    Web,
    /// As web, and small sizes load even faster
    ThumbnailFirst,
}

impl Settings {
    /// What they ask of the encoder.
    pub fn options(&self) -> EncodeOptions {
        let options = match self.preset {
            None | Some(Preset::Lossless) => EncodeOptions::lossless(),
            Some(Preset::VisuallyLossless) => EncodeOptions::visually_lossless(),
            Some(Preset::Web) => EncodeOptions::web(),
            Some(Preset::ThumbnailFirst) => EncodeOptions::thumbnail_first(),
        };
        let target = match (self.bpp, self.size, self.quality) {
            (Some(bits), ..) => Target::BitsPerPixel(bits),
            (_, Some(bytes), _) => Target::Bytes(bytes),
            (.., Some(quality)) => Target::Quality(quality),
            _ => options.target,
        };
        let profile = match () {
            () if self.small => Profile::Small,
            () if self.fast => Profile::Fast,
            () => options.profile,
        };
        EncodeOptions { target, profile, ..options }
    }
}

/// Which part of a picture.
#[derive(Args, Clone, Debug)]
pub struct Part {
    /// Level of quality: 0 is full size, each step up halves both sides
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub loq: u8,
    /// Only this rectangle, in full-size pixels whatever the LoQ
    #[arg(long, value_name = "X,Y,W,H", value_parser = parse_region)]
    pub region: Option<Rect>,
}

/// Decode a picture, or any size, region and planes of it
///
/// Reads only the bytes that takes. The output holds exactly the decoded values; a format that cannot is refused, with one that can. TIFF holds
/// everything. An existing output is replaced once the new one is complete.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stepwell decode photo.swl -o photo.png
  stepwell decode photo.swl -o small.png --loq 3
  stepwell decode map.swl -o part.tif --region 20000,16000,1024,1024 --planes 4,3,2
  stepwell decode photo.swl -o - --format ppm | display")]
pub struct Decode {
    /// Stepwell file
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Where to write; the ending (.png .ppm .pgm .pbm .pam .tif .raw) chooses the format
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub part: Part,
    /// Only these planes, by number, name or kind (0,1,2 or red,alpha)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub planes: Option<Vec<String>>,
    /// Format to write, whatever the ending
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Which decoder; all give the same bytes
    ///
    /// A GPU compiles its kernels first and sends the samples back, which takes longer than most single pictures do on
    /// the CPU: it pays for huge ones, and to see what a GPU gives. What does not fit its memory goes there in slices.
    #[arg(long, value_enum, default_value = "cpu")]
    pub backend: BackendName,
    /// Only a GPU whose name has this in it (with --backend gpu or auto)
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Print decoder, bytes read, time and size as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// All cores, made for speed
    Cpu,
    /// One core, made to be read
    Reference,
    /// The GPU, through Vulkan
    Gpu,
    /// The GPU where there is one that is no software, or else the CPU
    Auto,
}

impl From<BackendName> for Backend {
    fn from(name: BackendName) -> Self {
        match name {
            BackendName::Reference => Backend::Reference,
            // A GPU has a decoder of its own; this is the one to fall back to.
            BackendName::Cpu | BackendName::Gpu | BackendName::Auto => Backend::Cpu,
        }
    }
}

/// Copy a size or region into a file of its own, coding nothing anew
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell extract photo.swl -o preview.swl --loq 2
  stepwell extract map.swl -o town.swl --region 20000,16000,4096,4096")]
pub struct Extract {
    /// Stepwell file
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Stepwell file to write
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub part: Part,
}

/// Encode a Stepwell file anew, with other settings
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell transcode master.swl -o web.swl --preset web")]
pub struct Transcode {
    /// Stepwell file
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Stepwell file to write
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub settings: Settings,
}

/// Show what a file holds, and how many bytes each size takes
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell info photo.swl --json | jq '.loqs[] | select(.loq == 2).prefix_bytes'")]
pub struct Info {
    /// Stepwell file
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also tiles and bytes of each level, from the index
    #[arg(long)]
    pub index: bool,
}

/// Read and decode everything, checking every checksum
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell verify archive/*.swl")]
pub struct Verify {
    /// Stepwell files
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
}

/// Compare two pictures: largest error, PSNR and SSIM
///
/// Of each plane and of all: the largest absolute difference; PSNR = 10 log10(R² / MSE), R the range of the depth
/// (255 for 8 bits); SSIM of Wang et al. 2004 (Gaussian window of 11 × 11, σ 1.5), of all planes on the luma
/// 0.299 R + 0.587 G + 0.114 B.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell compare original.png photo.swl")]
pub struct Compare {
    /// Picture of any format that can be read
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Picture to compare it with
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Print JSON (infinite PSNR is null)
    #[arg(long)]
    pub json: bool,
}

/// Measure decoding, from memory to pixels in memory
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell bench photo.swl --threads 1 --repeat 10")]
pub struct Bench {
    /// Stepwell files
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Decodes of each file that are timed, after one that is not
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Level of quality to decode
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub loq: u8,
    /// Measure the GPU instead, with all files by turns in batches of so many pictures
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub gpu: Option<Vec<u32>>,
    /// On the GPU: only an adapter whose name has this in it
    #[arg(long, value_name = "NAME", requires = "gpu")]
    pub adapter: Option<String>,
    /// On the GPU: compile kernels with the checks that browsers add
    #[arg(long, requires = "gpu")]
    pub checked: bool,
    /// On the GPU: no subgroup operations
    #[arg(long, requires = "gpu")]
    pub portable: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Find where the GPU first gives another value than the CPU
///
/// Decodes on both, keeps what every stage gives (symbols of each tile, samples of each level and plane, what comes out),
/// and prints the first value that differs, or how many were compared. Takes about 40 bytes of memory a sample.
/// Exit code 1 if anything differs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stepwell bisect photo.swl
  stepwell bisect photo.swl --loq 1 --region 512,512,256,256 --checked
  stepwell bisect photo.swl --cpu-until entropy     # is it a fault of a later stage?")]
pub struct Bisect {
    /// Stepwell file
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    #[command(flatten)]
    pub part: Part,
    /// Only these planes, by number, name or kind (0,1,2 or red,alpha), and those they depend on
    #[arg(long, alias = "plane", value_name = "LIST", value_delimiter = ',')]
    pub planes: Option<Vec<String>>,
    /// Give the GPU the CPU's results up to and including a stage, and run only what follows on it
    #[arg(long, value_enum, value_name = "STAGE")]
    pub cpu_until: Option<StageName>,
    /// Only a GPU whose name has this in it
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Compile kernels with the checks that browsers add
    #[arg(long)]
    pub checked: bool,
    /// No subgroup operations
    #[arg(long)]
    pub portable: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StageName {
    /// Symbols of all tiles
    Entropy,
    /// Also samples of all levels
    Upsample,
    /// Also what comes out: checks transfers alone
    Colour,
}

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stepwell completions bash >/etc/bash_completion.d/stepwell")]
pub struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K', 'M', 'G']) {
        Some(digits) if text.ends_with('M') => (digits, 1e6),
        Some(digits) if text.ends_with('G') => (digits, 1e9),
        Some(digits) => (digits, 1e3),
        None => (text, 1.0),
    };
    let bytes =
        digits.parse::<f64>().map_err(|_| "not a number of bytes, such as 400000, 400k or 1.5M")? * unit;
    if (1.0..1e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err("must be above 0 and below 10^18".into())
    }
}

fn parse_region(text: &str) -> Result<Rect, String> {
    let numbers: Result<Vec<u32>, _> = text.split(',').map(|n| n.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([_, _, 0, _] | [_, _, _, 0]) => Err("width and height must be above 0".into()),
        Ok(&[x, y, width, height]) => Ok(Rect { x, y, width, height }),
        _ => Err("not X,Y,WIDTH,HEIGHT in pixels, such as 0,0,640,480".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_bytes("400000"), Ok(400_000));
        assert_eq!(parse_bytes("400k"), Ok(400_000));
        assert_eq!(parse_bytes("1.5M"), Ok(1_500_000));
        for wrong in ["", "k", "-5", "0", "5x", "1e30", "nan", "inf"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn regions_are_read() {
        assert_eq!(parse_region("1,2,30,40"), Ok(Rect::new(1, 2, 30, 40)));
        for wrong in ["", "1,2,3", "1,2,3,4,5", "1,2,0,4", "-1,2,3,4", "1,2,3,4294967296"] {
            assert!(parse_region(wrong).is_err(), "{wrong}");
        }
    }
}
