//! The `stepwell` program, run as a user runs it.

mod failures; // exit codes, messages, and that nothing is left behind
mod files; // where bytes come from and go to
mod gpu; // the GPU decodes to the same, or says why not
mod pictures; // what comes back
mod reports; // what is printed

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that vanishes with the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Names of everything in it, sorted.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder is there");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("the file can be written");
        path
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The program, to be run in this folder.
    fn stepwell(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
        command.current_dir(self.0.path()).args(words).stdin(Stdio::null());
        command
    }

    /// Runs the program; the test fails if it does.
    fn run(&self, words: &[&str]) -> Vec<u8> {
        let output = self.stepwell(words).output().expect("the program starts");
        assert!(output.status.success(), "{words:?}: {}", message(&output));
        output.stdout
    }

    /// Runs the program, which has to end with this exit code; gives what it says.
    fn refused(&self, code: i32, words: &[&str]) -> String {
        let output = self.stepwell(words).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", message(&output));
        assert!(output.stdout.is_empty(), "{words:?} printed a result");
        message(&output)
    }

    fn json(&self, words: &[&str]) -> serde_json::Value {
        let text = self.run(words);
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{words:?}: {e}"))
    }
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A picture that other programs made.
fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/data").join(name);
    path.to_str().expect("the repository's path is text").to_owned()
}

/// An RGB picture of 8 bits with structure and noise, as PPM.
fn ppm(width: usize, height: usize) -> Vec<u8> {
    let mut state = 7u32;
    let mut sample = |i: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((i / 3 % width) as u32 / 2 + (i / 3 / width) as u32 + (state >> 29)) as u8
    };
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    bytes.extend((0..width * height * 3).map(&mut sample));
    bytes
}

/// Width, height and samples of a PPM picture of 8 bits.
fn ppm_parts(bytes: &[u8]) -> (usize, usize, &[u8]) {
    let ends: Vec<_> =
        bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).take(3).collect();
    let header = std::str::from_utf8(&bytes[..ends[2]]).expect("a text header");
    let words: Vec<_> = header.split_whitespace().collect();
    assert_eq!((words[0], words[3]), ("P6", "255"));
    (words[1].parse().expect("a width"), words[2].parse().expect("a height"), &bytes[ends[2] + 1..])
}
