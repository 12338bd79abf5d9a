//! `stepwell compare`

use std::fmt::Write;

use crate::args::Compare;
use crate::failure::{Failure, Result};
use crate::metrics::{self, Difference};
use crate::ui::{self, Context};
use crate::{codec, files};

/// Prints how much two pictures differ.
pub fn run(args: &Compare, context: &Context) -> Result<()> {
    if files::is_std(&args.a) && files::is_std(&args.b) {
        return Err(Failure::usage("only one of the pictures can come from standard input"));
    }
    let (a, b) = (codec::load(&args.a, context)?, codec::load(&args.b, context)?);
    let difference = metrics::compare(&a, &b).map_err(|what| {
        Failure::failed(format!(
            "{} and {} cannot be compared: {what}",
            files::name(&args.a),
            files::name(&args.b)
        ))
    })?;
    if args.json { ui::print_json(&difference) } else { ui::print(&table(&difference)) }
}

fn table(difference: &Difference) -> String {
    let mut text = format!("{:<20} {:>9} {:>11} {:>8}\n", "plane", "max error", "PSNR dB", "SSIM");
    let mut row = |name: &str, max_error: u32, psnr: Option<f64>, ssim: Option<f64>| {
        let psnr = psnr.map_or("identical".into(), |v| format!("{v:.3}"));
        let ssim = ssim.map_or("-".into(), |v| format!("{v:.5}"));
        writeln!(text, "{name:<20} {max_error:>9} {psnr:>11} {ssim:>8}").expect("a string takes everything");
    };
    for p in &difference.planes {
        row(&p.plane, p.max_error, p.psnr, p.ssim);
    }
    row("all", difference.max_error, difference.psnr, difference.ssim);
    text
}
