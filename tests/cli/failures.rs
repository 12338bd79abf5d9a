use super::{Folder, fixture, ppm};

#[test]
fn wrong_command_lines_end_with_2() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(30, 20));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    for (words, said) in [
        (&["encode", "a.ppm", "-o", "b.swl", "--bpp", "1", "--quality", "5"][..], "cannot be used with"),
        (&["encode", "a.ppm", "-o", "b.swl", "--quality", "101"], "0 to 100"),
        (&["encode", "a.ppm", "-o", "b.swl", "--size", "0"], "above 0"),
        (&["encode", "a.ppm", "-o", "b.swl", "--raw", "30x20:8"], "640x480x3:8"),
        (&["encode", "a.ppm", "-", "-o", "out"], "not through -"),
        (&["encode", "a.ppm", "-o", "-", "--json"], "cannot both"),
        (&["decode", "a.swl", "-o", "b.jpg"], ".png"),
        (&["decode", "a.swl", "-o", "-"], "--format"),
        (&["decode", "a.swl", "-o", "b.png", "--region", "0,0,0,5"], "above 0"),
        (&["decode", "a.swl", "-o", "b.png", "--region", "25,0,10,5"], "a.swl"),
        (&["decode", "a.swl", "-o", "b.png", "--loq", "9"], "a.swl"),
        (&["decode", "a.swl", "-o", "b.png", "--planes", "nir"], "0 (red), 1 (green), 2 (blue)"),
        (&["decode", "a.swl", "-o", "b.pgm"], "--planes"),
        (&["decode", "a.swl", "-o", "b.png", "--threads", "0"], "threads"),
        (&["compare", "-", "-"], "standard input"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let message = folder.refused(2, words);
        assert!(message.contains(said), "{words:?} said {message}");
    }
    assert_eq!(folder.names(), ["a.ppm", "a.swl"]);
}

#[test]
fn what_cannot_be_done_ends_with_1() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(30, 20));
    folder.write("b.ppm", &ppm(20, 30));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    for (words, said) in [
        (&["encode", "none.png", "-o", "b.swl"][..], "none.png: cannot read"),
        (&["decode", "none.swl", "-o", "b.png"], "none.swl: cannot read"),
        (&["decode", "a.swl", "-o", "no/folder/b.png"], "cannot write no/folder/b.png"),
        (&["compare", "a.ppm", "b.ppm"], "sizes differ: 30 × 20 and 20 × 30"),
    ] {
        let message = folder.refused(1, words);
        assert!(message.contains(said), "{words:?} said {message}");
    }
}

#[test]
fn bad_input_files_end_with_3_and_are_named() {
    let folder = Folder::new();
    folder.write("noise.swl", b"\x89SWL\r\n\x1a\nthis is no head at all, and nothing follows");
    folder.write("text.png", b"hello");
    folder.write("empty.png", b"");
    folder.write("huge.pgm", b"P5\n4000000000 4000000000\n255\n");
    for words in [
        &["info", "noise.swl"][..],
        &["verify", "noise.swl"],
        &["decode", "text.png", "-o", "a.png"],
        &["encode", "text.png", "-o", "a.swl"],
        &["encode", "empty.png", "-o", "a.swl"],
        &["compare", "text.png", "text.png"],
    ] {
        let message = folder.refused(3, words);
        assert!(message.contains(words[1]), "{words:?} said {message}");
    }
    let message = folder.refused(1, &["encode", "huge.pgm", "-o", "a.swl"]);
    assert!(message.contains("huge.pgm") && message.contains("--no-limits"), "{message}");
    for (name, said) in
        [("cmyk.jpg", "CMYK"), ("float.tif", "no integers"), ("uint32_full.tif", "exceeds 31 bits")]
    {
        let message = folder.refused(3, &["encode", &fixture(name), "-o", "a.swl"]);
        assert!(message.contains(said), "{message}");
    }
    assert_eq!(folder.names(), ["empty.png", "huge.pgm", "noise.swl", "text.png"]);
}

#[test]
fn a_stepwell_file_is_not_encoded_again_by_mistake() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(30, 20));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    assert!(folder.refused(3, &["encode", "a.swl", "-o", "b.swl"]).contains("transcode"));
}

#[test]
fn every_flipped_byte_of_the_pixels_is_found() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(60, 40));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    folder.run(&["verify", "a.swl"]);
    let sound = folder.read("a.swl");
    for at in (0..sound.len()).step_by(sound.len() / 12) {
        let mut broken = sound.clone();
        broken[at] ^= 4;
        folder.write("b.swl", &broken);
        let message = folder.refused(3, &["verify", "b.swl"]);
        assert!(message.contains("b.swl"), "byte {at}: {message}");
    }
    let output = folder.stepwell(&["verify", "a.swl", "b.swl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.starts_with(b"a.swl: sound"));
}

#[test]
fn a_truncated_file_says_what_can_still_be_had() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    let info = folder.json(&["info", "a.swl", "--json"]);
    let prefix = info["loqs"][1]["prefix_bytes"].as_u64().unwrap() as usize;
    folder.write("cut.swl", &folder.read("a.swl")[..prefix]);
    let message = folder.refused(3, &["decode", "cut.swl", "-o", "cut.ppm"]);
    assert!(message.contains("--loq 1"), "{message}");
    folder.run(&["decode", "cut.swl", "-o", "cut.ppm", "--loq", "1"]);
    folder.run(&["decode", "a.swl", "-o", "whole.ppm", "--loq", "1"]);
    assert_eq!(folder.read("cut.ppm"), folder.read("whole.ppm"));
}
