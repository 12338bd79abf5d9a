//! `stepwell completions`

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::failure::Result;
use crate::ui;

/// Prints completions for a shell.
pub fn run(args: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stepwell", &mut script);
    ui::print(&String::from_utf8_lossy(&script))
}
