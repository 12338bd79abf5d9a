//! JPEG, WebP, Netpbm's formats and raw samples.

use super::*;

#[test]
fn jpeg_is_read_with_its_metadata() {
    let expected = |x: usize, y: usize, c: usize| [3 * x + 2 * y, 100, 200 - 3 * x][c] as i32;
    for (name, tolerance) in [("colour.jpg", 3), ("jpeg_ycc.tif", 6)] {
        let (image, _) = read(name);
        assert_eq!((kinds(&image), depths(&image)), (vec![Red, Green, Blue], vec![(8, false); 3]), "{name}");
        assert_near(&image, tolerance, expected);
    }
    let metadata = read("colour.jpg").0.metadata;
    assert_eq!(metadata.orientation, 6);
    let (x, y) = metadata.pixel_size.unwrap();
    assert!((x - 0.0254 / 300.0).abs() < 1e-12 && (y - 0.0254 / 150.0).abs() < 1e-12);
    assert!(metadata.icc.unwrap()[36..].starts_with(b"acsp"));
    assert!(metadata.xmp.unwrap().starts_with(b"<x:xmpmeta"));
    assert!(metadata.exif.unwrap().starts_with(b"MM\0*"));
    let (gray, _) = read("gray.jpg");
    assert_eq!(kinds(&gray), [Gray]);
    assert_near(&gray, 3, expected);
}

fn assert_near(image: &Image, tolerance: u32, expected: impl Fn(usize, usize, usize) -> i32) {
    for (i, plane) in image.planes.iter().enumerate() {
        for (at, v) in plane.samples.data().iter().enumerate() {
            let e = expected(at % WIDTH, at / WIDTH, i);
            assert!(v.abs_diff(e) <= tolerance, "plane {i}, sample {at}: {v}, not about {e}");
        }
    }
}

#[test]
fn cmyk_jpeg_is_refused_with_a_remedy() {
    let failure = refuse(&fixture("cmyk.jpg"));
    assert_eq!(failure.kind, Kind::BadInput);
    assert!(failure.to_string().contains("CMYK"));
    assert!(miette::Diagnostic::help(&failure).unwrap().to_string().contains("RGB"));
}

#[test]
fn webp_is_read_exactly_with_its_metadata() {
    let (image, notes) = read("lossless.webp");
    assert_eq!(kinds(&image), [Red, Green, Blue, Alpha]);
    assert_samples("lossless.webp", &image, |x, y, c| sample(x, y, c, 8));
    assert!(notes.is_empty());
    assert_eq!(image.metadata.orientation, 6);
    assert!(image.metadata.icc.is_some() && image.metadata.xmp.is_some());
    let (image, notes) = read("animated.webp");
    assert_samples("animated.webp", &image, |x, y, c| if c < 3 { sample(x, y, c, 8) } else { 255 });
    assert!(notes[0].contains("animation"));
}

#[test]
fn pnm_of_every_kind_is_read() {
    let gray = |bytes: &[u8]| {
        read_bytes(bytes).map(|(i, _)| (i.planes[0].info.depth, i.planes[0].samples.data().to_vec()))
    };
    assert_eq!(gray(b"P1\n# a comment\n3 2\n101\n0 1 0\n").unwrap(), (1, vec![0, 1, 0, 1, 0, 1]));
    assert_eq!(gray(b"P4 3 2\n\xA0\x40").unwrap(), (1, vec![0, 1, 0, 1, 0, 1]));
    assert_eq!(gray(b"P2 2 1 1000 # ten bits\n1000 7").unwrap(), (10, vec![1000, 7]));
    assert_eq!(gray(b"P5 2 1 1000\n\x03\xE8\x00\x07").unwrap(), (10, vec![1000, 7]));
    assert_eq!(gray(b"P5 2 1 5\n\x05\x00").unwrap(), (3, vec![5, 0]));
    let (image, _) = read_bytes(b"P3 1 1 255 1 2 3").unwrap();
    assert_eq!((kinds(&image), image.planes[2].samples.at(0, 0)), (vec![Red, Green, Blue], 3));
    let pam =
        b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 65535\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\x12\x34\xFF\xFF";
    let (image, _) = read_bytes(pam).unwrap();
    assert_eq!((kinds(&image), depths(&image)), (vec![Gray, Alpha], vec![(16, false); 2]));
    assert_eq!(image.planes.iter().map(|p| p.samples.at(0, 0)).collect::<Vec<_>>(), [0x1234, 0xFFFF]);
    let (image, notes) = read_bytes(b"P5 1 1 255\n\x01P5 1 1 255\n\x02").unwrap();
    assert_eq!((image.planes[0].samples.at(0, 0), notes.len()), (1, 1));
}

#[test]
fn broken_pnm_is_refused() {
    for (bytes, word) in [
        (&b"P5 2 2 255\n\x01\x02\x03"[..], "ends before"),
        (b"P5 2 1 5\n\x06\x00", "exceeds the maxval 5"),
        (b"P5 2 1 0\n\x00\x00", "maxval 0"),
        (b"P5 2 1 65536\n\x00\x00", "maxval 65536"),
        (b"P5 0 1 255\n", "size is 0"),
        (b"P5 99999999999 1 255\n", "too large"),
        (b"P5 4294967295 4294967295 255\n", "limit"),
        (b"P2 1 1 255 x", "'x' stands where a number"),
        (b"P7\nWIDTH 1\nHEIGHT 1\nMAXVAL 1\nENDHDR\n\0", "no DEPTH"),
        (
            b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 1\nTUPLTYPE RGB\nENDHDR\n\0\0\0\0",
            "do not fit its tuple type",
        ),
        (b"P7\nWIDTH 1\n", "ends before"),
    ] {
        let failure = refuse(bytes);
        assert!(failure.to_string().contains(word), "{failure} lacks {word}");
    }
}

#[test]
fn raw_samples_of_every_layout_are_read() {
    let read = |bytes: &[u8], shape: &str| {
        let shape: Shape = shape.parse().unwrap();
        super::super::read_raw(Path::new("it"), bytes.to_vec(), &shape, &Limits::default())
    };
    let planes = |image: Image| image.planes.into_iter().map(|p| p.samples.into_vec()).collect::<Vec<_>>();
    assert_eq!(planes(read(&[1, 2, 3, 4, 5, 6], "2x1x3:8").unwrap()), [[1, 4], [2, 5], [3, 6]]);
    assert_eq!(planes(read(&[1, 2, 3, 4, 5, 6], "2x1x3:8,planar").unwrap()), [[1, 2], [3, 4], [5, 6]]);
    assert_eq!(planes(read(&[0xFE, 0xFF, 1, 0], "1x2x1:16s").unwrap()), [[-2, 1]]);
    assert_eq!(planes(read(&[0xFF, 0xFE, 0, 1], "1x2x1:12sbe").unwrap()), [[-2, 1]]);
    assert_eq!(planes(read(&[0xFF, 0xFF, 0xFF, 0x7F], "1x1x1:31le").unwrap()), [[i32::MAX]]);
    assert!(read(&[0; 5], "2x1x3:8").unwrap_err().to_string().contains("5 bytes where --raw asks for 6"));
    assert!(read(&[0, 4], "1x1x1:10").unwrap_err().to_string().contains("1024"));
    for wrong in
        ["", "1x1:8", "1x1x1", "1x1x1:0", "1x1x1:32", "0x1x1:8", "1x1x256:8", "1x1x1:8xe", "1x1x1:8,rows"]
    {
        assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
    }
}
