//! Tensors on the GPU: the very bits of the processor's, and no byte beside them.

use std::sync::Arc;

use crate::gpu::gpu;
use crate::pictures::{Random, TEXTURES, gray, image, rgb};
use crate::region::random_region;
use crate::tensor::{File, encode, files, random_spec, tensor};
use stepwell::Size;
use stepwell::decode::gpu::{Decoded, GpuDecoder, Packet, Place, Target};
use stepwell::gpu::{Gpu, Shaders};
use stepwell::tensor::gpu::Tensors;
use stepwell::tensor::{Framing, TensorSpec};

/// What bytes hold that no tensor may touch.
const SENTINEL: u8 = 0xa5;

fn buffer(gpu: &Gpu, bytes: u64) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let descriptor = wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false };
    let buffer = gpu.device().create_buffer(&descriptor);
    gpu.queue().write_buffer(&buffer, 0, &vec![SENTINEL; bytes as usize]);
    buffer
}

fn read(gpu: &Gpu, buffer: &wgpu::Buffer) -> Vec<u8> {
    let back = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
    gpu.queue().submit([encoder.finish()]);
    back.map_async(wgpu::MapMode::Read, .., |_| ());
    gpu.wait().unwrap();
    let bytes = back.get_mapped_range(..).unwrap().to_vec();
    assert_eq!(bytes.len() as u64, buffer.size());
    bytes
}

/// Pictures framed for one spec.
struct Batch<'a> {
    files: Vec<&'a File>,
    framings: Vec<Framing>,
    target: Target,
}

impl<'a> Batch<'a> {
    /// A few of the files that can become such tensors, in parts or whole.
    fn random(random: &mut Random, spec: &TensorSpec, files: &'a [File]) -> Self {
        let mut batch = Batch { files: Vec::new(), framings: Vec::new(), target: Target::Planes };
        for _ in 0..1 + random.below(7) {
            let file = &files[random.below(files.len() as u64) as usize];
            let part = (random.below(2) > 0).then(|| random_region(random, file.size()));
            if let Ok(framing) = spec.framing(file.header(), part) {
                batch.files.push(file);
                batch.framings.push(framing);
            }
        }
        if random.below(2) > 0 {
            // Those alone that can be pixels.
            let all = batch.files.into_iter().zip(batch.framings);
            (batch.files, batch.framings) = all.filter(|(_, f)| f.target() == Target::Pixels).unzip();
            batch.target = Target::Pixels;
        }
        batch
    }

    /// The last picture first.
    fn turned(&self) -> Self {
        let (mut files, mut framings) = (self.files.clone(), self.framings.clone());
        files.reverse();
        framings.reverse();
        Batch { files, framings, target: self.target }
    }

    fn decode(&self, decoder: &mut GpuDecoder) -> Decoded {
        let pairs = self.files.iter().zip(&self.framings);
        let packets: Vec<Packet> = pairs.map(|(file, f)| file.packet(f.request()).unwrap()).collect();
        let decoded = decoder.decode(&packets.iter().collect::<Vec<_>>(), self.target).unwrap();
        assert!(decoded.results.iter().all(Result::is_ok));
        decoded
    }

    /// What a buffer holds that had sentinels before.
    fn expected(&self, spec: &TensorSpec, offset: u64, bytes: u64) -> Vec<u8> {
        let mut all = vec![SENTINEL; offset as usize];
        self.files.iter().zip(&self.framings).for_each(|(file, f)| all.extend(tensor(file, f)));
        all.resize((offset + spec.bytes(self.files.len())) as usize, 0);
        all.resize(bytes as usize, SENTINEL);
        all
    }
}

#[test]
fn equal_the_processors() {
    let files = files();
    for (shaders, seed) in [(Shaders::Trusted, 1), (Shaders::Checked, 2)] {
        let Some(gpu) = gpu(shaders) else { return };
        let mut decoder = GpuDecoder::new(Arc::clone(&gpu));
        let mut random = Random(seed);
        let mut made = [0, 0];
        for _ in 0..50 {
            let spec = random_spec(&mut random);
            let mut tensors = Tensors::new(Arc::clone(&gpu), spec).unwrap();
            let batch = Batch::random(&mut random, &spec, &files);
            if batch.files.is_empty() {
                continue;
            }
            made[usize::from(batch.target == Target::Pixels)] += 1;
            let decoded = batch.decode(&mut decoder);
            let from = (decoder.output().unwrap(), batch.target);
            let last = batch.files.len() - 1;
            let mut fill = |batch: &Batch, place: &dyn Fn(usize, usize) -> Option<Place>| {
                let offset = 4 * random.below(200);
                let bytes = offset + spec.bytes(batch.files.len()) + 4 * random.below(20);
                let to = buffer(&gpu, bytes);
                let framings: Vec<&Framing> = batch.framings.iter().collect();
                tensors.fill(&framings, from, place, (&to, offset)).unwrap();
                (offset, to)
            };
            // The other way round before anybody waits: the tables of the second must not disturb the first.
            let forth = fill(&batch, &|i, p| decoded.place(i, p));
            let turned = batch.turned();
            let back = fill(&turned, &|i, p| decoded.place(last - i, p));
            for (batch, (offset, to)) in [(&batch, forth), (&turned, back)] {
                let (found, expected) = (read(&gpu, &to), batch.expected(&spec, offset, to.size()));
                assert_eq!(found.len(), expected.len());
                if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
                    let (found, expected) = (found[at], expected[at]);
                    panic!("{spec:?}, byte {at} with the tensor from {offset} on: {found}, not {expected}");
                }
            }
        }
        assert!(made[0] > 12 && made[1] > 6, "{made:?} tensors of planes and of pixels test too little");
    }
}

/// More words than one row of workgroups has, and a tensor of many words a picture.
#[test]
fn large_batches() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(Arc::clone(&gpu));
    let file = encode(&image(Size::new(16, 16), rgb(8), TEXTURES[1], 1));
    let spec = TensorSpec::new(Size::new(1500, 1400));
    let framing = spec.framing(file.header(), None).unwrap();
    let batch = Batch { files: vec![&file; 3], framings: vec![framing; 3], target: Target::Pixels };
    let decoded = batch.decode(&mut decoder);
    let bytes = spec.bytes(3);
    assert!(bytes / 4 / 256 > 65_535);
    let to = buffer(&gpu, bytes);
    let framings: Vec<&Framing> = batch.framings.iter().collect();
    let mut tensors = Tensors::new(Arc::clone(&gpu), spec).unwrap();
    let from = (decoder.output().unwrap(), batch.target);
    tensors.fill(&framings, from, |i, p| decoded.place(i, p), (&to, 0)).unwrap();
    assert!(read(&gpu, &to) == batch.expected(&spec, 0, bytes));
}

#[test]
fn what_does_not_fit_is_refused_and_writes_nothing() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(Arc::clone(&gpu));
    let file = encode(&image(Size::new(40, 30), rgb(8), TEXTURES[0], 1));
    let deep = encode(&image(Size::new(40, 30), gray(16), TEXTURES[0], 1));
    let spec = TensorSpec::new(Size::new(20, 15));
    let mut tensors = Tensors::new(Arc::clone(&gpu), spec).unwrap();
    let framing = spec.framing(file.header(), None).unwrap();
    let other = TensorSpec::new(Size::new(20, 16)).framing(file.header(), None).unwrap();
    let of_deep = spec.framing(deep.header(), None).unwrap();
    assert_eq!((framing.target(), of_deep.target()), (Target::Pixels, Target::Planes));
    let batch = Batch { files: vec![&file], framings: vec![framing.clone()], target: Target::Pixels };
    let decoded = batch.decode(&mut decoder);
    let place = |i: usize, p: usize| decoded.place(i, p);
    let to = buffer(&gpu, spec.bytes(1) + 8);
    let from = (decoder.output().unwrap(), Target::Pixels);
    let moved = |by: u32, columns: u32| {
        move |i: usize, p: usize| {
            let place: Place = place(i, p)?;
            Some(Place { first: place.first + by, size: Size::new(columns, place.size.height) })
        }
    };
    let words = (from.0.size() / 4) as u32;
    let hidden = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: to.size(),
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let refused = |result: stepwell::Result<()>| match result {
        Err(stepwell::Error::Request(_)) => (),
        other => panic!("{other:?}"),
    };
    for offset in [1, 2, 12, u64::MAX - 3] {
        refused(tensors.fill(&[&framing], from, place, (&to, offset)));
    }
    refused(tensors.fill(&[&framing; 2], from, place, (&to, 0)));
    refused(tensors.fill(&[&other], from, place, (&to, 0)));
    refused(tensors.fill(&[&of_deep], from, place, (&to, 0)));
    refused(tensors.fill(&[&framing], (from.0, Target::Planes), place, (&to, 0)));
    refused(tensors.fill(&[&framing], from, moved(words, 20), (&to, 0)));
    refused(tensors.fill(&[&framing], from, moved(0, 19), (&to, 0)));
    refused(tensors.fill(&[&framing], from, |_, _| None, (&to, 0)));
    refused(tensors.fill(&[&framing], from, place, (&hidden, 0)));
    refused(tensors.fill(&[&framing], from, place, (from.0, 0)));
    tensors.fill(&[], from, place, (&to, 0)).unwrap();
    assert!(read(&gpu, &to).iter().all(|&byte| byte == SENTINEL));
    // The same, right.
    tensors.fill(&[&framing], from, place, (&to, 8)).unwrap();
    assert!(read(&gpu, &to) == batch.expected(&spec, 8, to.size()));
}
