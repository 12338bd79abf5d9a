//! With `STEPWELL_GPU=required` a machine without a GPU fails these tests; without it they say so and check nothing.

use std::sync::OnceLock;

use super::{Folder, fixture, message, ppm};

/// Whether there is a GPU to test with.
fn gpu() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| look_for_gpu(&Folder::new()))
}

fn look_for_gpu(folder: &Folder) -> bool {
    folder.write("probe.ppm", &ppm(20, 20));
    folder.run(&["encode", "probe.ppm", "-o", "probe.swl"]);
    let output = folder.stepwell(&["decode", "probe.swl", "-o", "probe.png", "--backend", "gpu"]).output();
    let output = output.expect("the program starts");
    let found = output.status.success();
    assert!(found || std::env::var("STEPWELL_GPU").as_deref() != Ok("required"), "{}", message(&output));
    if !found {
        eprintln!("no GPU test is run: {}", message(&output));
    }
    found
}

#[test]
fn the_gpu_gives_the_same_bytes() {
    let folder = Folder::new();
    if !gpu() {
        return;
    }
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    folder.run(&["encode", &fixture("uint32.tif"), "-o", "deep.swl"]);
    for (file, output, words) in [
        ("a.swl", "a.png", &[][..]),
        ("a.swl", "a.raw", &["--region", "13,50,170,90", "--planes", "blue,red"]),
        ("deep.swl", "a.tif", &["--loq", "1"]),
    ] {
        let run = |backend: &str| {
            let report = folder
                .json(&[&["decode", file, "-o", output, "--json", "--backend", backend], words].concat());
            assert_eq!(report["decoder"], backend);
            folder.read(output)
        };
        assert!(run("gpu") == run("cpu"), "{file} as {output} {words:?}");
    }
}

#[test]
fn auto_decodes_with_what_there_is() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(60, 40));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let decode = |words: &[&str]| {
        let all = [&["decode", "a.swl", "-o", "b.ppm", "--json", "--backend", "auto"], words].concat();
        let output = folder.stepwell(&all).output().expect("the program starts");
        assert!(output.status.success(), "{}", message(&output));
        assert_eq!(folder.read("a.ppm"), folder.read("b.ppm"));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        (report["decoder"].as_str().expect("a word").to_owned(), message(&output))
    };
    // It says so if it does not take a GPU, and only then.
    let (decoder, said) = decode(&[]);
    assert_eq!(decoder == "cpu", said.contains("decoding on the CPU"), "{decoder}: {said}");
    let (decoder, said) = decode(&["--adapter", "no such name"]);
    assert!(decoder == "cpu" && said.contains("decoding on the CPU"), "{decoder}: {said}");
    assert!(!decode(&["--quiet", "--adapter", "no such name"]).1.contains("note"));
}

#[test]
fn what_has_no_gpu_says_what_to_do() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(60, 40));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let none = &["--adapter", "no such name"];
    for words in [&["decode", "a.swl", "-o", "b.ppm", "--backend", "gpu"][..], &["bisect", "a.swl"]] {
        let said = folder.refused(1, &[words, none].concat());
        assert!(said.contains("--backend cpu"), "{said}");
        let cause = if cfg!(feature = "gpu") { "no GPU can be used" } else { "without the feature gpu" };
        assert!(said.contains(cause), "{said}");
    }
    let said = folder.refused(2, &["decode", "a.swl", "-o", "b.ppm", "--adapter", "x"]);
    assert!(said.contains("--backend gpu"), "{said}");
    assert!(!folder.names().contains(&"b.ppm".to_owned()));
}

#[test]
fn bisect_says_what_it_compared() {
    let folder = Folder::new();
    if !gpu() {
        return;
    }
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl", "--quality", "70"]);
    for words in [
        &[][..],
        &["--loq", "1", "--region", "100,50,64,64", "--plane", "green", "--checked", "--portable"],
        &["--cpu-until", "entropy"],
    ] {
        let text = folder.run(&[&["bisect", "a.swl"], words].concat());
        let text = String::from_utf8(text).expect("text");
        assert!(text.starts_with("no difference in ") && !text.contains(" 0 "), "{words:?}: {text}");
    }
    let mut broken = folder.read("a.swl");
    let last = broken.len() - 1;
    broken[last] ^= 1;
    folder.write("broken.swl", &broken);
    assert!(folder.refused(3, &["bisect", "broken.swl"]).contains("checksum"));
}
