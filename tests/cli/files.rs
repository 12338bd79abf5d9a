use std::io::Write;
use std::process::Stdio;

use super::{Folder, fixture, ppm};

/// Runs the program with `input` on standard input.
fn piped(folder: &Folder, words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = folder.stepwell(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input");
    let bytes = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("no panic").expect("the input is read");
    assert!(output.status.success(), "{words:?}");
    output.stdout
}

#[test]
fn standard_input_and_output_take_the_place_of_files() {
    let folder = Folder::new();
    let picture = ppm(60, 40);
    let file = piped(&folder, &["encode", "-", "-o", "-"], &picture);
    let back = piped(&folder, &["decode", "-", "-o", "-", "--format", "ppm"], &file);
    assert_eq!(back, picture);
    let copy = piped(&folder, &["transcode", "-", "-o", "-"], &file);
    folder.write("copy.swl", &copy);
    folder.run(&["decode", "copy.swl", "-o", "copy.ppm"]);
    assert_eq!(folder.read("copy.ppm"), picture);
    assert!(piped(&folder, &["info", "-"], &file).starts_with("size        60 × 40".as_bytes()));
    piped(&folder, &["verify", "-"], &file);
    assert_eq!(folder.names(), ["copy.ppm", "copy.swl"]);
}

#[test]
fn several_pictures_go_into_a_folder_that_is_made() {
    let folder = Folder::new();
    for name in ["a.ppm", "b.ppm", "c.d.ppm"] {
        folder.write(name, &ppm(30, 20));
    }
    let report = folder.json(&["encode", "a.ppm", "b.ppm", "c.d.ppm", "-o", "out/deep", "--json"]);
    assert_eq!(report["files"].as_array().unwrap().len(), 3);
    for name in ["a.swl", "b.swl", "c.d.swl"] {
        folder.run(&["verify", &format!("out/deep/{name}")]);
    }
    folder.run(&["encode", "a.ppm", "-o", "single/"]);
    folder.run(&["verify", "single/a.swl"]);
}

#[test]
fn one_bad_picture_does_not_keep_the_others() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(30, 20));
    folder.write("b.ppm", b"P6\n30 20\n255\nshort");
    folder.write("c.ppm", &ppm(20, 30));
    let said = folder.refused(1, &["encode", "a.ppm", "b.ppm", "c.ppm", "-o", "out"]);
    assert!(said.contains("b.ppm: broken file: it ends before its last sample"), "{said}");
    folder.run(&["verify", "out/a.swl", "out/c.swl"]);
    assert_eq!(std::fs::read_dir(folder.path("out")).unwrap().count(), 2);
}

#[test]
fn a_folder_made_for_nothing_is_removed() {
    let folder = Folder::new();
    folder.write("a.ppm", b"P6\n");
    folder.write("b.ppm", b"P6\n");
    folder.refused(1, &["encode", "a.ppm", "b.ppm", "-o", "out"]);
    assert_eq!(folder.names(), ["a.ppm", "b.ppm"]);
}

#[test]
fn names_that_collide_are_refused_before_any_work() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(30, 20));
    folder.write("a.pnm", &ppm(30, 20));
    let said = folder.refused(2, &["encode", "a.ppm", "a.pnm", "-o", "out"]);
    assert!(said.contains("would both become"), "{said}");
    assert_eq!(folder.names(), ["a.pnm", "a.ppm"]);
}

#[test]
fn inputs_are_never_overwritten() {
    let folder = Folder::new();
    let picture = ppm(30, 20);
    folder.write("a.ppm", &picture);
    folder.refused(2, &["encode", "a.ppm", "-o", "./a.ppm"]);
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let file = folder.read("a.swl");
    folder.refused(2, &["transcode", "a.swl", "-o", "a.swl", "--quality", "10"]);
    folder.refused(2, &["extract", "a.swl", "-o", "a.swl", "--loq", "1"]);
    folder.refused(2, &["decode", "a.swl", "-o", "a.swl", "--format", "png"]);
    assert_eq!((folder.read("a.ppm"), folder.read("a.swl")), (picture, file));
    // Another input's name is as bad.
    folder.write("b.swl", &ppm(30, 20));
    folder.refused(2, &["encode", "b.swl", "a.ppm", "-o", "."]);
}

#[test]
fn a_failed_run_leaves_an_existing_output_as_it_was() {
    let folder = Folder::new();
    folder.write("a.ppm", b"P6\n30 20\n255\nshort");
    folder.write("a.swl", b"precious");
    folder.refused(3, &["encode", "a.ppm", "-o", "a.swl"]);
    assert_eq!(folder.read("a.swl"), b"precious");
    assert_eq!(folder.names(), ["a.ppm", "a.swl"]);
}

#[cfg(unix)]
#[test]
fn outputs_are_ordinary_files_and_links_stay_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(30, 20));
    folder.write("plain", b"");
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("a.swl"), mode("plain"), "the umask decides");
    std::fs::set_permissions(folder.path("a.swl"), std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink("a.swl", folder.path("link.swl")).unwrap();
    folder.run(&["encode", "a.ppm", "-o", "link.swl", "--quality", "50"]);
    assert!(std::fs::symlink_metadata(folder.path("link.swl")).unwrap().is_symlink());
    assert_eq!(mode("a.swl") & 0o777, 0o600, "an existing file keeps its permissions");
    folder.run(&["verify", "a.swl"]);
    folder.run(&["decode", "a.swl", "-o", "/dev/null", "--format", "png"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_writing_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(2400, 2000));
    folder.run(&["encode", "a.ppm", "-o", "a.swl", "--quality", "30"]);
    let before = folder.names();
    let mut child = folder.stepwell(&["decode", "a.swl", "-o", "a.png"]).spawn().expect("the program starts");
    let pending = || folder.names().iter().any(|n| n.starts_with(".stepwell-"));
    while !pending() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.names(), before);
}

#[test]
fn remarks_go_to_standard_error_and_can_be_silenced() {
    let folder = Folder::new();
    let pages = fixture("pages.tif");
    let said = |words: &[&str]| super::message(&folder.stepwell(words).output().unwrap());
    assert!(said(&["encode", &pages, "-o", "a.swl"]).contains("only the first picture"));
    assert_eq!(said(&["encode", &pages, "-o", "a.swl", "--quiet"]), "");
}
