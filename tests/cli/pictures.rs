use super::{Folder, fixture, ppm, ppm_parts};

#[test]
fn every_readable_fixture_comes_back_exactly() {
    let folder = Folder::new();
    for name in [
        "animated.webp",
        "big.tif",
        "bilevel.tif",
        "colour.jpg",
        "gray.jpg",
        "gray_alpha.tif",
        "interlaced16.png",
        "interlaced2.png",
        "interlaced8.png",
        "jpeg_ycc.tif",
        "lossless.webp",
        "pages.tif",
        "palette.tif",
        "planar_bands.tif",
        "rgb_and_more.tif",
        "tiled_lzw_be.tif",
        "uint32.tif",
        "white_is_zero.tif",
    ] {
        let original = fixture(name);
        folder.run(&["encode", &original, "-o", "a.swl", "-q"]);
        folder.run(&["decode", "a.swl", "-o", "a.tif"]);
        for copy in ["a.swl", "a.tif"] {
            let difference = folder.json(&["compare", &original, copy, "--json", "-q"]);
            assert_eq!(difference["identical"], true, "{name} against {copy}");
        }
    }
}

#[test]
fn samples_of_every_depth_come_back_to_the_byte() {
    let folder = Folder::new();
    // The comparer has no part in this: raw bytes in, raw bytes out.
    for (shape, bytes) in
        [("33x20x1:1", 1), ("33x20x3:8", 3), ("33x20x2:10", 4), ("33x20x4:16", 8), ("33x20x1:31", 4)]
    {
        let depth: u32 = shape.split_once(':').unwrap().1.parse().unwrap();
        let width = bytes / shape.as_bytes()[6].wrapping_sub(b'0') as usize;
        let sample = |i: u32| (i.wrapping_mul(2_654_435_761) >> (32 - depth)).to_le_bytes();
        let count = 33 * 20 * (bytes / width) as u32;
        let raw: Vec<u8> = (0..count).flat_map(|i| sample(i).into_iter().take(width)).collect();
        folder.write("in.raw", &raw);
        folder.run(&["encode", "in.raw", "--raw", shape, "-o", "a.swl"]);
        folder.run(&["decode", "a.swl", "-o", "out.raw"]);
        assert_eq!(folder.read("out.raw"), raw, "{shape}");
    }
}

#[test]
fn metadata_comes_through() {
    let folder = Folder::new();
    folder.run(&["encode", &fixture("colour.jpg"), "-o", "a.swl"]);
    for copy in ["a.png", "a.tif"] {
        folder.run(&["decode", "a.swl", "-o", copy]);
        folder.run(&["encode", copy, "-o", "b.swl"]);
        let (a, b) = (folder.json(&["info", "a.swl", "--json"]), folder.json(&["info", "b.swl", "--json"]));
        assert_eq!(a["orientation"], 6);
        for field in ["orientation", "icc_bytes", "xmp_bytes", "width", "height", "planes"] {
            assert_eq!(a[field], b[field], "{field} through {copy}");
        }
        assert!(b["exif_bytes"].as_u64() > Some(40), "{copy}");
        let dpi = |info: &serde_json::Value, i: usize| 0.0254 / info["pixel_size"][i].as_f64().unwrap();
        assert!((dpi(&b, 0) - 300.0).abs() < 0.02 && (dpi(&b, 1) - 150.0).abs() < 0.02, "{copy}");
    }
}

#[test]
fn a_region_of_a_level_is_a_part_of_the_level() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(301, 203));
    folder.run(&["encode", "a.ppm", "-o", "a.swl", "--quality", "80"]);
    for (loq, region, (x, y, width, height)) in [
        ("0", "7,9,100,50", (7, 9, 100, 50)),
        ("1", "8,10,101,50", (4, 5, 51, 25)),
        ("3", "0,0,301,203", (0, 0, 38, 26)),
    ] {
        folder.run(&["decode", "a.swl", "-o", "all.ppm", "--loq", loq]);
        let report =
            folder.json(&["decode", "a.swl", "-o", "part.ppm", "--loq", loq, "--region", region, "--json"]);
        let (all, part) = (folder.read("all.ppm"), folder.read("part.ppm"));
        let (all_width, _, all) = ppm_parts(&all);
        let (part_width, part_height, part) = ppm_parts(&part);
        assert_eq!((part_width, part_height), (width, height), "LoQ {loq}");
        assert_eq!((&report["width"], &report["height"]), (&width.into(), &height.into()));
        for row in 0..height {
            let from = ((y + row) * all_width + x) * 3;
            assert_eq!(
                part[row * width * 3..][..width * 3],
                all[from..][..width * 3],
                "LoQ {loq}, row {row}"
            );
        }
    }
}

#[test]
fn planes_are_chosen_by_number_and_name_in_any_order() {
    let folder = Folder::new();
    let picture = ppm(40, 30);
    folder.write("a.ppm", &picture);
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    folder.run(&["decode", "a.swl", "-o", "swapped.ppm", "--planes", "blue,1,red"]);
    let swapped = folder.read("swapped.ppm");
    let (_, _, original) = ppm_parts(&picture);
    let (_, _, swapped) = ppm_parts(&swapped);
    for (a, b) in original.chunks_exact(3).zip(swapped.chunks_exact(3)) {
        assert_eq!([a[0], a[1], a[2]], [b[2], b[1], b[0]]);
    }
    folder.run(&["decode", "a.swl", "-o", "green.pgm", "--planes", "green"]);
    assert!(folder.read("green.pgm").ends_with(&[original[original.len() - 2]]));
}

#[test]
fn backends_and_threads_give_the_same_bytes() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl", "--bpp", "2"]);
    folder.run(&["encode", "a.ppm", "-o", "b.swl", "--bpp", "2", "--threads", "1"]);
    assert_eq!(folder.read("a.swl"), folder.read("b.swl"));
    folder.run(&["decode", "a.swl", "-o", "a.png"]);
    folder.run(&["decode", "a.swl", "-o", "b.png", "--threads", "1", "--backend", "reference"]);
    assert_eq!(folder.read("a.png"), folder.read("b.png"));
}

#[test]
fn extracts_and_transcodes_decode_like_their_sources() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl"]);
    folder.run(&["extract", "a.swl", "-o", "small.swl", "--loq", "1"]);
    folder.run(&["decode", "small.swl", "-o", "small.ppm"]);
    folder.run(&["decode", "a.swl", "-o", "level.ppm", "--loq", "1"]);
    assert_eq!(folder.read("small.ppm"), folder.read("level.ppm"));
    assert!(folder.read("small.swl").len() < folder.read("a.swl").len() / 2);
    folder.run(&["extract", "a.swl", "-o", "part.swl", "--region", "150,100,64,64"]);
    folder.run(&["decode", "part.swl", "-o", "part.ppm"]);
    folder.run(&["decode", "a.swl", "-o", "region.ppm", "--region", "150,100,64,64"]);
    assert_eq!(folder.read("part.ppm"), folder.read("region.ppm"));
    folder.run(&["transcode", "a.swl", "-o", "same.swl"]);
    folder.run(&["decode", "same.swl", "-o", "same.ppm"]);
    assert_eq!(folder.read("same.ppm"), folder.read("a.ppm"));
    folder.run(&["transcode", "a.swl", "-o", "web.swl", "--preset", "web"]);
    assert!(folder.read("web.swl").len() < folder.read("a.swl").len());
}

#[test]
fn targets_are_kept() {
    let folder = Folder::new();
    folder.write("a.ppm", &ppm(300, 200));
    folder.run(&["encode", "a.ppm", "-o", "a.swl", "--size", "9k"]);
    assert!((8_000..=9_000).contains(&folder.read("a.swl").len()), "{}", folder.read("a.swl").len());
    folder.run(&["encode", "a.ppm", "-o", "a.swl", "--bpp", "1.5"]);
    assert!((10_000..=11_250).contains(&folder.read("a.swl").len()), "{}", folder.read("a.swl").len());
    folder.run(&["encode", "a.ppm", "-o", "good.swl", "--quality", "95"]);
    folder.run(&["encode", "a.ppm", "-o", "bad.swl", "--quality", "40"]);
    let psnr = |file: &str| folder.json(&["compare", "a.ppm", file, "--json"])["psnr"].as_f64().unwrap();
    assert!(psnr("good.swl") > psnr("bad.swl") + 6.0);
}
