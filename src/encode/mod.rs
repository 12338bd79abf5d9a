//! Encoding: the decoder's chain backwards, and what chooses among the ways to code.

mod choose;
mod levels;
mod model;
mod options;
mod pyramid;
mod rate;
mod tiles;

use crate::container::write::File;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::image::Image;

pub use options::{EncodeOptions, Profile, Target};
use pyramid::Pyramid;

/// Turns pictures into Stepwell files.
///
/// ```
/// use stepwell::{EncodeOptions, Encoder, Image, PlaneKind, Size};
///
/// let pixels: Vec<u8> = (0..30 * 20).map(|i| (i % 251) as u8).collect();
/// let image = Image::from_interleaved(Size::new(30, 20), &[PlaneKind::Gray], 8, &pixels)?;
/// let file: Vec<u8> = Encoder::new(EncodeOptions::lossless()).encode(&image)?;
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    options: EncodeOptions,
    control: Control,
}

impl Encoder {
    /// With these options.
    pub fn new(options: EncodeOptions) -> Self {
        Encoder { options, control: Control::new() }
    }

    /// With progress and cancellation.
    #[must_use]
    pub fn with_control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// Encodes a picture.
    ///
    /// # Errors
    /// [`Error::Request`] for a picture or options that make no sense, and for a size that cannot be reached;
    /// [`Error::Cancelled`].
    pub fn encode(&self, image: &Image) -> Result<Vec<u8>> {
        Ok(self.encode_file(image)?.into_vec())
    }

    fn encode_file(&self, image: &Image) -> Result<File> {
        image.check()?;
        self.options.check()?;
        let pixels = image.size.area();
        match self.options.target {
            Target::Lossless => self.lossless(image, &self.control),
            Target::Quality(quality) => {
                let step = Some(options::step_from_quality(quality));
                self.finish(image, &Pyramid::new(image, false), step, &self.control)
            }
            Target::Bytes(bytes) => self.within(image, bytes),
            Target::BitsPerPixel(bits) => self.within(image, (bits * pixels as f64 / 8.0) as u64),
        }
    }

    fn lossless(&self, image: &Image, control: &Control) -> Result<File> {
        self.finish(image, &Pyramid::new(image, true), None, control)
    }

    fn finish(&self, image: &Image, pyramid: &Pyramid, step: Option<f64>, control: &Control) -> Result<File> {
        levels::encode_levels(image, pyramid, &self.options, step, control)?.finish()
    }

    /// The best file of at most so many bytes.
    fn within(&self, image: &Image, bytes: u64) -> Result<File> {
        let pyramid = Pyramid::new(image, false);
        let found = rate::search(bytes, image.size.area(), |step, attempt| {
            // Each try is likely to be the last but one.
            let from = 1.0 - 0.6f32.powi(attempt as i32);
            let to = 1.0 - 0.6f32.powi(attempt as i32 + 1);
            let file = self.finish(image, &pyramid, Some(step), &self.control.part(from, to))?;
            Ok((file.bytes(), (step, file)))
        });
        // Where the target leaves room, where the step is near that of exact files, or where a lossy file cannot be made
        // small enough, exact may fit.
        let deepest = image.planes.iter().map(|p| p.info.depth).max().unwrap_or(1);
        let fine = 2.0 * (8.0 - f64::from(deepest)).exp2();
        let room = match &found {
            Ok((step, file)) => *step < fine || (file.bytes() as f64) < bytes as f64 * 0.98,
            Err(Error::Request(_)) => true,
            Err(_) => false,
        };
        if room {
            let exact = self.lossless(image, &self.control)?;
            if exact.bytes() <= bytes {
                return Ok(exact);
            }
        }
        found.map(|(_, file)| file)
    }
}
