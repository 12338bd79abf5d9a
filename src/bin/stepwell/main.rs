//! The command line program `stepwell`.

mod args;
mod codec;
mod commands;
mod failure;
mod files;
#[cfg_attr(not(feature = "gpu"), path = "gpu_disabled.rs")]
mod gpu;
mod input;
mod metrics;
mod output;
mod planes;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use stepwell::Limits;

use args::{Cli, Command, Global};
use failure::{Failure, Failures};
use ui::Context;

/// Exit code of a run that was interrupted.
const CANCELLED: i32 = 130;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match prepare(&cli.global).map_err(Failures::from).and_then(|context| run(cli.command, &context)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failures) => failures.report(),
    }
}

/// Sets up threads, interrupts and the look of error messages.
fn prepare(global: &Global) -> Result<Context, Failure> {
    // Long lines stay whole, so that scripts and people can search for them.
    let style = |_: &_| Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).build()) as Box<_>;
    miette::set_hook(Box::new(style)).map_err(|e| Failure::failed(e.to_string()))?;
    // Nothing is waited for: no partial output has its final name yet.
    ctrlc::set_handler(|| files::abandon(CANCELLED)).map_err(|e| Failure::failed(e.to_string()))?;
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = global.threads {
        pool = pool.num_threads(threads.into());
    }
    pool.build_global().map_err(|e| Failure::failed(e.to_string()))?;
    let limits = if global.no_limits { Limits::NONE } else { Limits::default() };
    Ok(Context { limits, quiet: global.quiet })
}

fn run(command: Command, context: &Context) -> Result<(), Failures> {
    match command {
        Command::Encode(args) => commands::encode::run(&args, context)?,
        Command::Decode(args) => commands::decode::run(&args, context)?,
        Command::Extract(args) => commands::extract::run(&args, context)?,
        Command::Transcode(args) => commands::transcode::run(&args, context)?,
        Command::Info(args) => commands::info::run(&args, context)?,
        Command::Verify(args) => commands::verify::run(&args, context)?,
        Command::Compare(args) => commands::compare::run(&args, context)?,
        Command::Bench(args) => commands::bench::run(&args, context)?,
        Command::Bisect(args) => commands::bisect::run(&args, context)?,
        Command::Completions(args) => commands::completions::run(&args)?,
    }
    Ok(())
}
