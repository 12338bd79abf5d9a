use crate::pictures::{TEXTURES, Texture, gray, image, rgb, rgba, yuv420};
use stepwell::stream::MemorySource;
use stepwell::{
    Backend, Decoder, EncodeOptions, Encoder, Image, Limits, PlaneInfo, PlaneKind, Request, Size,
};

fn open(file: &[u8], backend: Backend) -> Decoder<MemorySource> {
    Decoder::open(MemorySource::new(file.to_vec()), Limits::default()).unwrap().with_backend(backend)
}

/// Encodes losslessly and demands the same picture from both decoders.
fn exact(image: &Image) -> Vec<u8> {
    let file = Encoder::new(EncodeOptions::lossless()).encode(image).unwrap();
    for backend in [Backend::Reference, Backend::Cpu] {
        let decoded = open(&file, backend).decode(&Request::default()).unwrap();
        assert_eq!(decoded.size, image.size);
        for (i, (a, b)) in decoded.planes.iter().zip(&image.planes).enumerate() {
            assert_eq!(a.info, b.info);
            let wrong = a.samples.data().iter().zip(b.samples.data()).position(|(a, b)| a != b);
            assert_eq!(wrong, None, "{backend:?}: plane {i} of {:?}, {:?}", image.size, b.info);
        }
        assert_eq!(decoded, *image);
    }
    file
}

#[test]
fn every_small_size() {
    for height in 1..=67 {
        for width in 1..=67 {
            let texture = TEXTURES[((width + 3 * height) % 5) as usize];
            exact(&image(Size::new(width, height), gray(8), texture, u64::from(width * 100 + height)));
        }
    }
}

#[test]
fn every_depth() {
    for depth in 1..=31 {
        for texture in TEXTURES {
            exact(&image(Size::new(75, 41), rgb(depth), texture, depth.into()));
            let mut signed = gray(depth);
            signed[0].signed = true;
            exact(&image(Size::new(33, 70), signed, texture, depth.into()));
        }
    }
}

#[test]
fn larger_than_a_tile() {
    for (width, height) in [(300, 200), (257, 129), (1, 777), (777, 1), (131, 500)] {
        exact(&image(Size::new(width, height), rgba(8), Texture::Photo, 5));
        exact(&image(Size::new(width, height), yuv420(10), Texture::Photo, 6));
    }
}

#[test]
fn twelve_planes() {
    let planes = (0..12).map(|i| PlaneInfo::new(PlaneKind::Other, 12 + i)).collect();
    exact(&image(Size::new(150, 90), planes, Texture::Photo, 1));
}
