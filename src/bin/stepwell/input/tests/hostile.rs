//! Broken and hostile files.

use super::*;

#[test]
fn files_cut_anywhere_are_refused_without_a_panic() {
    for name in [
        "tiled_lzw_be.tif",
        "big.tif",
        "colour.jpg",
        "gray.jpg",
        "lossless.webp",
        "interlaced8.png",
        "palette.tif",
    ] {
        let bytes = fixture(name);
        for end in 0..bytes.len() {
            match read_bytes(&bytes[..end]) {
                Err(failure) => assert_eq!(failure.kind, Kind::BadInput, "{name} cut at {end}: {failure}"),
                // Some tails hold no pixels (a TIFF file's padding, PNG's last chunk, WebP's metadata).
                Ok((cut, _)) => {
                    assert_eq!(cut.planes, read_bytes(&bytes).unwrap().0.planes, "{name} cut at {end}")
                }
            }
        }
    }
}

#[test]
fn damaged_files_do_not_panic() {
    for name in [
        "tiled_lzw_be.tif",
        "planar_bands.tif",
        "big.tif",
        "palette.tif",
        "colour.jpg",
        "lossless.webp",
        "interlaced2.png",
    ] {
        let bytes = fixture(name);
        // Headers and directories lie in the first and last bytes; they get every value that matters.
        for at in (0..bytes.len()).filter(|&at| at < 600 || at + 300 > bytes.len()) {
            for value in [0, 1, 0x7F, 0xFF, bytes[at] ^ 1] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let limits = Limits { samples: 1 << 24, ..Limits::default() };
                let _ = super::super::read(Path::new(name), damaged, &limits);
            }
        }
    }
}

#[test]
fn a_header_that_asks_for_terabytes_is_refused_before_memory_is_taken() {
    let mut bytes = fixture("interlaced8.png");
    bytes[16..24].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]);
    let crc = crc32fast::hash(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    let failure = refuse(&bytes);
    assert!(failure.to_string().contains("more than the limit"), "{failure}");
}

#[test]
fn other_formats_are_named() {
    assert!(refuse(b"GIF89a....").to_string().contains("GIF"));
    assert!(refuse(b"\0\0\0\x0CJXL \r\n\x87\n").to_string().contains("JPEG XL"));
    assert!(refuse(b"hello world").to_string().contains("not a picture"));
    assert!(refuse(b"").to_string().contains("empty"));
}
