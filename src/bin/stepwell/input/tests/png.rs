//! PNG.

use ::png::{BitDepth, ColorType, Encoder};

use super::*;

#[test]
fn interlaced_png_is_read_exactly() {
    for (name, bits, planes) in
        [("interlaced16.png", 16, 3), ("interlaced8.png", 8, 3), ("interlaced2.png", 2, 1)]
    {
        let (image, _) = read(name);
        assert_eq!(depths(&image), vec![(bits, false); planes], "{name}");
        assert_samples(name, &image, |x, y, c| sample(x, y, c, bits.into()));
    }
}

/// A PNG of the size of the formula, its stored samples given one a byte (two where they have 16 bits).
fn png(
    colour: ColorType,
    bits: u8,
    rows: &[Vec<u8>],
    palette: &[u8],
    transparency: Option<&[u8]>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, WIDTH as u32, HEIGHT as u32);
    encoder.set_color(colour);
    encoder.set_depth(BitDepth::from_u8(bits).unwrap());
    if !palette.is_empty() {
        encoder.set_palette(palette.to_vec());
    }
    if let Some(transparency) = transparency {
        encoder.set_trns(transparency.to_vec());
    }
    encoder.write_header().unwrap().write_image_data(&rows.concat()).unwrap();
    bytes
}

/// Rows of `bits`-bit samples, packed by hand.
fn packed_rows(bits: usize) -> Vec<Vec<u8>> {
    let row = |y| {
        let mut row = vec![0u8; (WIDTH * bits).div_ceil(8)];
        (0..WIDTH * bits).for_each(|i| {
            let (x, bit) = (i / bits, bits - 1 - i % bits);
            row[i / 8] |= ((sample(x, y, 0, bits as u32) >> bit & 1) as u8) << (7 - i % 8);
        });
        row
    };
    (0..HEIGHT).map(row).collect()
}

#[test]
fn png_palettes_become_rgb_of_8_bits_with_opacity_where_there_is_some() {
    for bits in [1, 2, 4, 8] {
        let palette: Vec<u8> = (0..1usize << bits).flat_map(|i| [i as u8, 255 - i as u8, 77]).collect();
        let plain = png(ColorType::Indexed, bits, &packed_rows(bits.into()), &palette, None);
        let (image, _) = read_bytes(&plain).unwrap();
        assert_eq!((kinds(&image), depths(&image)), (vec![Red, Green, Blue], vec![(8, false); 3]));
        let colour = |x, y, c| {
            let index = sample(x, y, 0, bits.into());
            [index, 255 - index, 77, if index == 0 { 9 } else { 255 }][c]
        };
        assert_samples("palette", &image, colour);
        let clear = png(ColorType::Indexed, bits, &packed_rows(bits.into()), &palette, Some(&[9]));
        let (image, _) = read_bytes(&clear).unwrap();
        assert_eq!(kinds(&image), [Red, Green, Blue, Alpha]);
        assert_samples("palette with opacity", &image, colour);
    }
}

#[test]
fn transparent_colours_of_png_become_opacity() {
    for bits in [1, 2, 4, 8] {
        let gray = png(ColorType::Grayscale, bits, &packed_rows(bits.into()), &[], Some(&[0, 1]));
        let (image, _) = read_bytes(&gray).unwrap();
        assert_eq!((kinds(&image), depths(&image)), (vec![Gray, Alpha], vec![(bits, false); 2]));
        assert_samples("transparent gray", &image, |x, y, c| match (sample(x, y, 0, bits.into()), c) {
            (value, 0) => value,
            (1, _) => 0,
            _ => (1 << bits) - 1,
        });
    }
    // 16 bits: a colour that agrees in the high bytes only is not transparent.
    let row = |y| (0..WIDTH).flat_map(|x| [1, if x == y { 2 } else { 3 }, 1, 2, 1, 2]).collect();
    let rows: Vec<Vec<u8>> = (0..HEIGHT).map(row).collect();
    let (image, _) = read_bytes(&png(ColorType::Rgb, 16, &rows, &[], Some(&[1, 2, 1, 2, 1, 2]))).unwrap();
    assert_eq!(depths(&image), vec![(16, false); 4]);
    assert_samples("transparent colour", &image, |x, y, c| match c {
        0 => 256 + if x == y { 2 } else { 3 },
        3 => {
            if x == y {
                0
            } else {
                65535
            }
        }
        _ => 258,
    });
}

#[test]
fn a_palette_index_without_a_colour_is_refused() {
    let bytes = png(ColorType::Indexed, 4, &packed_rows(4), &[1, 2, 3], None);
    assert!(refuse(&bytes).to_string().contains("no palette entry"));
}
