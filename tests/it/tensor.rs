//! Tensors on the processor: what the documents say they are, by arithmetic of this test's own, and what Pillow makes.

use crate::pictures::{Random, TEXTURES, gray, image, rgb, rgba, yuv420};
use crate::region::random_region;
use stepwell::stream::MemorySource;
use stepwell::tensor::{Channels, Element, Fit, Framing, Layout, TensorSpec, cpu};
use stepwell::{
    Decoder, EncodeOptions, Encoder, Image, Limits, PlaneInfo, PlaneKind, Rect, Request, Size, Target,
    extract,
};

pub type File = Decoder<MemorySource>;

pub fn open(file: Vec<u8>) -> File {
    Decoder::open(MemorySource::new(file), Limits::default()).unwrap()
}

pub fn encode(image: &Image) -> File {
    open(Encoder::new(EncodeOptions::lossless()).encode(image).unwrap())
}

pub fn tensor(file: &File, framing: &Framing) -> Vec<u8> {
    let mut out = Vec::new();
    cpu::append(framing, &file.decode(framing.request()).unwrap(), &mut out).unwrap();
    assert_eq!(out.len() as u64, framing.spec().elements() * u64::from(framing.spec().element.bytes()));
    out
}

/// Files of all that planes can be: depths, signs, sub-sampling, orders, sizes down to one pixel, a window of a canvas.
pub fn files() -> Vec<File> {
    let signed = PlaneInfo { signed: true, ..PlaneInfo::new(PlaneKind::Depth, 13) };
    let mut thin_alpha = rgba(8);
    thin_alpha[3] = PlaneInfo { subsampling: (3, 2), ..PlaneInfo::new(PlaneKind::Alpha, 5) };
    let with_alpha = vec![gray(8).remove(0), PlaneInfo::new(PlaneKind::Alpha, 8)];
    let mut backwards = rgb(8);
    backwards.reverse();
    let kinds = [
        (97, 61, gray(8)),
        (131, 99, rgb(8)),
        (64, 75, rgba(8)),
        (80, 53, gray(16)),
        (55, 70, rgb(16)),
        (41, 40, rgba(12)),
        (30, 50, gray(1)),
        (60, 33, gray(31)),
        (33, 47, vec![signed]),
        (77, 90, yuv420(8)),
        (70, 41, thin_alpha),
        (43, 37, with_alpha),
        (50, 36, backwards),
        (1, 77, rgb(8)),
        (250, 1, rgb(8)),
        (1, 1, gray(8)),
        (5, 3, rgba(8)),
    ];
    let picture = |(i, (width, height, planes)): (usize, (u32, u32, Vec<PlaneInfo>))| {
        encode(&image(Size::new(width, height), planes, TEXTURES[i % 3], i as u64))
    };
    let mut files: Vec<File> = kinds.into_iter().enumerate().map(picture).collect();
    let request = Request { loq: 1, region: Some(Rect::new(33, 21, 90, 70)), planes: None };
    files.push(open(extract(&files[1], &request).unwrap().into_vec()));
    files
}

pub fn random_spec(random: &mut Random) -> TensorSpec {
    let mut pick = |count: u64| random.below(count) as usize;
    let size = Size::new(1 + pick(40) as u32, 1 + pick(40) as u32);
    let fill = [0.0, 1.0, 114.0 / 255.0, 0.3];
    let (mean, std) =
        [([0.0; 4], [1.0; 4]), ([0.485, 0.456, 0.406, 0.5], [0.229, 0.224, -0.225, 0.5])][pick(2)];
    TensorSpec {
        size,
        channels: [Channels::Gray, Channels::Rgb, Channels::Rgba][pick(3)],
        fit: [Fit::Letterbox { fill }, Fit::Crop, Fit::Stretch][pick(3)],
        layout: [Layout::Planar, Layout::Interleaved][pick(2)],
        element: [Element::U8, Element::F16, Element::F32][pick(3)],
        mean,
        std,
    }
}

/// Elements as numbers, those of bytes from 0 to 1.
fn values(element: Element, bytes: &[u8]) -> Vec<f64> {
    let half = |bits: u16| {
        let (exponent, steps) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let size =
            if exponent == 0 { steps / 2f64.powi(24) } else { (1024.0 + steps) * 2f64.powi(exponent - 25) };
        if bits >> 15 == 1 { -size } else { size }
    };
    match element {
        Element::U8 => bytes.iter().map(|&v| f64::from(v) / 255.0).collect(),
        Element::F16 => bytes.chunks_exact(2).map(|b| half(u16::from_le_bytes([b[0], b[1]]))).collect(),
        Element::F32 => {
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect()
        }
    }
}

/// What is seen of an axis in full-size pixels, and the pixels of the tensor that it becomes.
#[derive(Clone, Copy, Debug)]
struct Seen {
    start: f64,
    length: f64,
    first: u32,
    pixels: u32,
}

fn seen(spec: &TensorSpec, part: Rect) -> [Seen; 2] {
    let (width, height) = (f64::from(spec.size.width), f64::from(spec.size.height));
    let scales = [width / f64::from(part.width), height / f64::from(part.height)];
    let axis = |own: f64, pixels: u32, (start, length): (u32, u32)| {
        let (start, length) = (f64::from(start), f64::from(length));
        match spec.fit {
            Fit::Stretch => Seen { start, length, first: 0, pixels },
            Fit::Crop => {
                let scale = scales[0].max(scales[1]);
                let cut = length * own / scale;
                Seen { start: start + (length - cut) / 2.0, length: cut, first: 0, pixels }
            }
            Fit::Letterbox { .. } => {
                let inner = (length * scales[0].min(scales[1]) + 1e-9).round().max(1.0) as u32;
                Seen { start, length, first: (pixels - inner) / 2, pixels: inner }
            }
        }
    };
    [
        axis(scales[0], spec.size.width, (part.x, part.width)),
        axis(scales[1], spec.size.height, (part.y, part.height)),
    ]
}

/// The samples of a row or column that a pixel sees, and their weights. A sample is `cell` pixels long; those of `bounds`
/// pixels of the canvas count. All in pixels of the canvas.
fn filter(seen: Seen, pixel: u32, cell: f64, (start, end): (f64, f64)) -> Vec<(usize, f64)> {
    let scale = seen.length / f64::from(seen.pixels);
    let (centre, support) = (seen.start + (f64::from(pixel) + 0.5) * scale, scale.max(cell));
    let samples = (start / cell).floor() as usize..(end / cell).ceil() as usize;
    let weight = |i: usize| 1.0 - ((i as f64 + 0.5) * cell - centre).abs() / support;
    let near: Vec<(usize, f64)> = samples.map(|i| (i, weight(i))).filter(|&(_, w)| w > 0.0).collect();
    let sum: f64 = near.iter().map(|(_, w)| w).sum();
    near.into_iter().map(|(i, w)| (i, w / sum)).collect()
}

/// A whole LoQ, and the part of the picture that becomes a tensor.
struct Picture<'a> {
    whole: &'a Image,
    window: Rect,
    loq: u8,
    part: Rect,
}

impl Picture<'_> {
    /// A plane of a pixel of the tensor, 0 to 1, and how far arithmetic in whole numbers may be from it.
    fn value(&self, plane: usize, seen: [Seen; 2], x: u32, y: u32) -> (f64, f64) {
        let (info, samples) = (&self.whole.planes[plane].info, &self.whole.planes[plane].samples);
        let axis = |mut seen: Seen, pixel, factor: u8, window: u32, (start, length): (u32, u32)| {
            let cell = f64::from(factor) * f64::from(1u32 << self.loq);
            seen.start += f64::from(window);
            let start = f64::from(window + start);
            let first = (f64::from(window) / cell).floor() as usize;
            let filter = filter(seen, pixel, cell, (start, start + f64::from(length)));
            filter.into_iter().map(move |(i, w)| (i - first, w)).collect::<Vec<_>>()
        };
        let (part, window) = (self.part, self.window);
        let columns = axis(seen[0], x, info.subsampling.0, window.x, (part.x, part.width));
        let rows = axis(seen[1], y, info.subsampling.1, window.y, (part.y, part.height));
        let (low, high) = info.range();
        let fraction = |v: i32| (f64::from(v) - f64::from(low)) / (f64::from(high) - f64::from(low));
        let mut sum = 0.0;
        for (j, down) in &rows {
            for (i, across) in &columns {
                sum += down * across * fraction(samples.at(*i, *j));
            }
        }
        (sum, (4.0 + (columns.len() + rows.len()) as f64) / 65_536.0)
    }
}

/// Compares a tensor with the arithmetic above. The framing's planes are its own choice, and checked elsewhere.
fn check(file: &File, spec: &TensorSpec, part: Option<Rect>, framing: &Framing) {
    let request = framing.request();
    let whole =
        file.decode(&Request { loq: request.loq, region: None, planes: request.planes.clone() }).unwrap();
    let window = file.header().window;
    let part = part.unwrap_or(window.size().rect());
    let seen = seen(spec, part);
    for loq in request.loq..=request.loq + 1 {
        let enough = seen.iter().all(|s| (s.length / f64::from(1 << loq)).ceil() >= f64::from(s.pixels));
        let is_chosen = loq == request.loq;
        assert!(enough == is_chosen || loq == 0 || loq > file.header().levels, "{seen:?} from LoQ {loq}");
    }
    let inner = Rect::new(seen[0].first, seen[1].first, seen[0].pixels, seen[1].pixels);
    assert_eq!(framing.inner(), inner);
    let picture = Picture { whole: &whole, window, loq: request.loq, part };
    let found = values(spec.element, &tensor(file, framing));
    let (width, height, channels) = (spec.size.width, spec.size.height, spec.channels.count());
    for (at, &found) in found.iter().enumerate() {
        let at = at as u32;
        let (channel, pixel) = match spec.layout {
            Layout::Planar => (at / (width * height), at % (width * height)),
            Layout::Interleaved => (at % channels, at / channels),
        };
        let (x, y) = (pixel % width, pixel / width);
        let inside = (inner.x..inner.right()).contains(&x) && (inner.y..inner.bottom()).contains(&y);
        let plane = |plane: usize| picture.value(plane, seen, x - inner.x, y - inner.y);
        let planes = whole.planes.len();
        let (fraction, near) = match (inside, spec.fit, spec.channels) {
            (false, Fit::Letterbox { fill }, _) => (fill[channel as usize].into(), 1.0 / 65_536.0),
            (_, _, Channels::Gray) if planes == 3 => {
                let [r, g, b] = [0, 1, 2].map(plane);
                (0.299 * r.0 + 0.587 * g.0 + 0.114 * b.0, r.1.max(g.1).max(b.1) + 2.0 / 65_536.0)
            }
            (_, _, Channels::Rgba) if channel == 3 && planes % 2 == 1 => (1.0, 0.0),
            (_, _, Channels::Rgba) if channel == 3 => plane(planes - 1),
            _ => plane(if planes < 3 { 0 } else { channel as usize }),
        };
        let (mean, std) = (f64::from(spec.mean[channel as usize]), f64::from(spec.std[channel as usize]));
        let (mut expected, mut near) = ((fraction - mean) / std, near / std.abs() + 1e-6);
        match spec.element {
            Element::U8 => {
                expected = expected.clamp(0.0, 1.0);
                near += 0.5 / 255.0;
            }
            Element::F16 => near += expected.abs() / 2048.0,
            Element::F32 => (),
        }
        assert!((found - expected).abs() <= near, "{spec:?} of {part:?}: {found}, not {expected}, at {at}");
    }
}

#[test]
fn as_documented() {
    let files = files();
    let mut random = Random(5);
    let (mut made, mut refused) = (0, 0);
    for i in 0..600 {
        let file = &files[i % files.len()];
        let spec = random_spec(&mut random);
        let part = (random.below(3) > 0).then(|| random_region(&mut random, file.size()));
        match spec.framing(file.header(), part) {
            Ok(framing) => {
                made += 1;
                check(file, &spec, part, &framing);
            }
            Err(error) => {
                refused += 1;
                let chroma = file.header().planes.iter().any(|info| info.kind == PlaneKind::ChromaBlue);
                assert!(chroma && spec.channels != Channels::Gray, "{error}");
            }
        }
    }
    assert!(made > 500 && refused > 5, "{made} tensors and {refused} refusals test too little");
}

/// The samples of `channel`'s plane of the picture that Pillow was given.
fn golden_picture() -> File {
    let sample = |i: u32| (i % 13 * 37 + i / 13 * 91 + (i % 13) * (i / 13) * 13) % 256;
    let samples: Vec<u8> = (0..13 * 11).map(|i| sample(i) as u8).collect();
    encode(&Image::from_interleaved(Size::new(13, 11), &[PlaneKind::Gray], 8, &samples).unwrap())
}

/// Made by Pillow 9.4.0: `resize(size, Image.BILINEAR, box=…)` of the picture in mode F (which does not round), for the
/// crop with `box=(1, 0, 12, 11)`, for the part of `crop((2, 1, 11, 9))`. Compared at a 255th and closer.
#[test]
#[rustfmt::skip]
fn as_pillow_makes_it() {
    let file = golden_picture();
    let letterbox = Fit::Letterbox { fill: [0.5; 4] };
    let cases: [(Size, Fit, Option<Rect>, &[f64]); 4] = [
        (Size::new(8, 7), Fit::Stretch, None, &[
            53.983, 118.924, 132.000, 150.888, 116.349, 88.800, 101.876, 166.817, 154.870, 142.141, 146.022,
            146.592, 123.532, 168.778, 87.602, 145.352, 100.823, 128.569, 151.475, 128.180, 130.430, 127.275,
            112.892, 123.927, 125.851, 114.920, 166.705, 130.077, 138.288, 147.000, 136.956, 100.500, 135.510,
            131.119, 174.925, 170.378, 161.988, 153.925, 145.019, 137.073, 155.093, 162.704, 96.778, 117.444,
            130.726, 127.000, 143.642, 162.315, 109.017, 139.840, 90.320, 139.409, 98.749, 116.880, 92.391, 140.850,
        ]),
        // More columns than there are, and fewer rows.
        (Size::new(15, 3), Fit::Stretch, None, &[
            84.971, 131.806, 124.029, 145.509, 149.434, 124.103, 149.971, 143.657, 111.987, 133.954, 134.954,
            105.234, 90.143, 126.251, 173.086, 117.829, 134.493, 110.919, 144.789, 169.917, 145.511, 143.998,
            124.171, 142.223, 151.117, 143.361, 143.514, 129.098, 96.366, 143.000, 122.857, 145.600, 155.610,
            133.924, 106.874, 111.032, 145.910, 132.514, 131.796, 104.259, 137.674, 125.253, 119.171, 183.794, 112.914,
        ]),
        (Size::new(7, 7), Fit::Crop, None, &[
            88.529, 141.244, 125.025, 154.863, 95.775, 79.556, 132.271, 155.065, 145.864, 149.639, 121.292,
            153.250, 138.556, 94.961, 121.853, 151.431, 123.953, 144.796, 108.797, 139.986, 97.250, 102.288,
            159.070, 149.250, 116.751, 165.803, 138.018, 107.353, 144.147, 155.014, 173.547, 164.362, 157.703,
            151.347, 142.868, 165.314, 125.617, 104.417, 123.398, 115.806, 144.383, 164.922, 133.800, 106.533,
            112.675, 133.242, 94.525, 100.667, 127.612,
        ]),
        (Size::new(7, 5), Fit::Crop, Some(Rect::new(2, 1, 9, 8)), &[
            110.738, 146.727, 175.269, 107.735, 139.451, 184.749, 85.756, 143.261, 161.198, 114.375, 159.201,
            96.146, 140.391, 104.700, 114.545, 169.227, 130.818, 106.192, 170.182, 131.773, 186.455, 85.830,
            177.257, 154.344, 144.796, 137.972, 129.225, 141.727, 155.589, 168.455, 178.527, 147.972, 181.364,
            173.749, 148.447,
        ]),
    ];
    for (size, fit, part, expected) in cases {
        let spec = TensorSpec { channels: Channels::Gray, fit, ..TensorSpec::new(size) };
        let framing = spec.framing(file.header(), part).unwrap();
        assert_eq!(framing.request().loq, 0);
        let found = values(Element::F32, &tensor(&file, &framing));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((255.0 * found - expected).abs() < 0.02, "{} is not {expected}", 255.0 * found);
        }
        let bytes = tensor(&file, &TensorSpec { element: Element::U8, ..spec }.framing(file.header(), part).unwrap());
        assert!(bytes.iter().zip(expected).all(|(&found, expected)| (f64::from(found) - expected).abs() <= 0.52));
    }
    // The first and the last row of `resize((9, 8))`, below 2 filled rows and above 2.
    let spec = TensorSpec { channels: Channels::Gray, fit: letterbox, ..TensorSpec::new(Size::new(9, 12)) };
    let found = values(Element::F32, &tensor(&file, &spec.framing(file.header(), None).unwrap()));
    let first = [43.784, 97.881, 136.332, 133.479, 160.947, 80.878, 78.025, 116.476, 170.574];
    let last = [145.897, 100.468, 120.958, 132.291, 92.685, 113.175, 99.746, 133.779];
    assert!(found[..18].iter().chain(&found[90..]).all(|v| (v - 0.5).abs() < 1e-5));
    assert!(found[18..].iter().zip(first).all(|(v, expected)| (255.0 * v - expected).abs() < 0.02));
    assert!(found[82..90].iter().zip(last).all(|(v, expected)| (255.0 * v - expected).abs() < 0.02));
}

/// Samples come out as they are where no pixel is resampled, of any depth.
#[test]
fn the_same_size_changes_nothing() {
    for depth in [1, 4, 8, 10, 15, 16, 31] {
        let picture = image(Size::new(30, 20), gray(depth), TEXTURES[1], 3);
        let file = encode(&picture);
        let spec = TensorSpec { channels: Channels::Gray, ..TensorSpec::new(Size::new(30, 20)) };
        let found = values(Element::F32, &tensor(&file, &spec.framing(file.header(), None).unwrap()));
        let most = f64::from(picture.planes[0].info.range().1);
        let near = if depth == 8 { 1e-7 } else { 1.01 / 65_535.0 };
        for (found, &sample) in found.iter().zip(picture.planes[0].samples.data()) {
            assert!((found - f64::from(sample) / most).abs() <= near, "{sample} of {depth} bits: {found}");
        }
    }
    let picture = image(Size::new(30, 20), rgb(8), TEXTURES[1], 3);
    let file = encode(&picture);
    let spec =
        TensorSpec { element: Element::U8, layout: Layout::Interleaved, ..TensorSpec::new(picture.size) };
    let mut samples: Vec<u8> = Vec::new();
    file.decode_interleaved(&Request::default(), &mut samples).unwrap();
    assert_eq!(tensor(&file, &spec.framing(file.header(), None).unwrap()), samples);
}

/// A crop reads what it takes; a small tensor of a large picture reads little.
#[test]
fn only_what_is_needed_is_read() {
    let picture = image(Size::new(1200, 300), rgb(8), TEXTURES[0], 3);
    let bytes = Encoder::new(EncodeOptions { target: Target::Quality(80.0), ..EncodeOptions::lossless() })
        .encode(&picture)
        .unwrap();
    let file = open(bytes);
    let planned = |spec: &TensorSpec| {
        let framing = spec.framing(file.header(), None).unwrap();
        (framing.request().loq, file.plan(framing.request()).unwrap().bytes())
    };
    let size = Size::new(224, 224);
    let (loq, crop) = planned(&TensorSpec::new(size));
    let (_, all) = planned(&TensorSpec { fit: Fit::Stretch, ..TensorSpec::new(size) });
    assert!(loq == 0 && 2 * crop < all, "a quarter of the picture takes {crop} of {all} bytes");
    let (loq, small) =
        planned(&TensorSpec { fit: Fit::Letterbox { fill: [0.0; 4] }, ..TensorSpec::new(size) });
    assert!(loq == 2 && 5 * small < all, "a sixteenth of the picture takes {small} of {all} bytes");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let spec = TensorSpec::new(Size::new(20, 10));
    let with = |index: usize, value: f32, mut all: [f32; 4]| {
        all[index] = value;
        all
    };
    let fill = |value| Fit::Letterbox { fill: with(1, value, [0.0; 4]) };
    let wrong = [
        TensorSpec { size: Size::new(0, 10), ..spec },
        TensorSpec { size: Size::new(10, 0), ..spec },
        TensorSpec { size: Size::new(10, 16_385), ..spec },
        TensorSpec { size: Size::new(u32::MAX, u32::MAX), ..spec },
        TensorSpec { std: with(2, 0.0, [1.0; 4]), ..spec },
        TensorSpec { std: with(0, f32::NAN, [1.0; 4]), ..spec },
        TensorSpec { std: with(1, f32::INFINITY, [1.0; 4]), ..spec },
        TensorSpec { mean: with(1, f32::NEG_INFINITY, [0.0; 4]), ..spec },
        TensorSpec { fit: fill(1.01), ..spec },
        TensorSpec { fit: fill(f32::NAN), ..spec },
        TensorSpec { std: with(0, 1e-40, [1.0; 4]), ..spec },
        TensorSpec { std: with(0, 1e-5, [1.0; 4]), element: Element::F16, ..spec },
        TensorSpec { mean: with(0, 7e4, [1.0; 4]), element: Element::F16, ..spec },
    ];
    let file = encode(&image(Size::new(40, 30), rgb(8), TEXTURES[0], 1));
    let refused = |spec: &TensorSpec, file: &File, part| match spec.framing(file.header(), part) {
        Err(stepwell::Error::Request(_)) => (),
        other => panic!("{spec:?} {part:?}: {other:?}"),
    };
    for spec in &wrong {
        assert!(spec.check().is_err());
        refused(spec, &file, None);
        // Nothing overflows.
        let _ = (spec.elements(), spec.bytes(usize::MAX));
    }
    assert!(TensorSpec { std: [1e-5; 4], ..spec }.check().is_ok());
    assert!(TensorSpec { size: Size::new(16_384, 16_384), ..spec }.check().is_ok());
    for part in [
        Rect::new(0, 0, 41, 1),
        Rect::new(39, 0, 2, 1),
        Rect::new(0, 0, 0, 1),
        Rect::new(u32::MAX, u32::MAX, u32::MAX, 1),
    ] {
        refused(&spec, &file, Some(part));
    }
    // A pixel of 600 samples.
    let long = encode(&image(Size::new(600, 4), rgb(8), TEXTURES[0], 1));
    refused(&TensorSpec { fit: Fit::Stretch, ..TensorSpec::new(Size::new(1, 4)) }, &long, None);
    // An image of another request.
    let framing = spec.framing(file.header(), None).unwrap();
    let mut out = vec![1, 2, 3];
    for request in [
        Request { loq: framing.request().loq + 1, ..framing.request().clone() },
        Request { planes: Some(vec![0, 1]), ..framing.request().clone() },
    ] {
        assert!(cpu::append(&framing, &file.decode(&request).unwrap(), &mut out).is_err());
    }
    assert_eq!(out, [1, 2, 3]);
}
