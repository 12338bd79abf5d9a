//! How much two pictures differ: largest error, PSNR and SSIM.
//!
//! With R the number of steps between the smallest and the largest value a sample may have (255 for 8 bits):
//!
//! * PSNR = 10 log10(R² / MSE), MSE the mean of the squared differences. Of all planes together: with the
//!   differences divided by each plane's R.
//! * SSIM as in Z. Wang, A. C. Bovik, H. R. Sheikh and E. P. Simoncelli, "Image quality assessment: from error
//!   visibility to structural similarity", IEEE Transactions on Image Processing 13(4), 2004: the mean of
//!   (2 μa μb + C1)(2 σab + C2) / ((μa² + μb² + C1)(σa² + σb² + C2)) over all places where the window lies inside
//!   the picture; window 11 × 11, Gaussian of σ = 1.5, sum 1; C1 = (0.01 R)², C2 = (0.03 R)². No down-scaling.
//!   Of all planes together: of the luma 0.299 red + 0.587 green + 0.114 blue where there are such planes,
//!   otherwise the mean over the planes.

use rayon::prelude::*;
use serde::Serialize;
use stepwell::{Image, Plane, PlaneKind};

/// Side of SSIM's window.
const WINDOW: usize = 11;

/// Rows that one task of the SSIM handles.
const BAND: usize = 64;

/// Difference of two planes.
#[derive(Clone, Debug, Serialize)]
pub struct PlaneDifference {
    /// Name or kind of the plane.
    pub plane: String,
    /// Largest absolute difference of two samples.
    pub max_error: u32,
    /// Mean squared difference.
    pub mse: f64,
    /// In decibels; none (infinite) if the planes are identical.
    pub psnr: Option<f64>,
    /// None if the plane is smaller than the window.
    pub ssim: Option<f64>,
}

/// Difference of two pictures.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Whether all samples are the same.
    pub identical: bool,
    /// Largest absolute difference of two samples.
    pub max_error: u32,
    /// In decibels; none (infinite) if the pictures are identical.
    pub psnr: Option<f64>,
    /// None if the picture is smaller than the window.
    pub ssim: Option<f64>,
    /// Plane by plane.
    pub planes: Vec<PlaneDifference>,
}

/// Compares pictures of the same size and planes; the error says in what they differ.
pub fn compare(a: &Image, b: &Image) -> Result<Difference, String> {
    check_comparable(a, b)?;
    let planes: Vec<_> = a.planes.iter().zip(&b.planes).map(|(a, b)| compare_planes(a, b)).collect();
    let samples = |p: &Plane| p.samples.data().len() as f64;
    let relative = |(d, p): (&PlaneDifference, &Plane)| d.mse / range(p).powi(2) * samples(p);
    let mse =
        planes.iter().zip(&a.planes).map(relative).sum::<f64>() / a.planes.iter().map(samples).sum::<f64>();
    let ssims = planes.iter().map(|p| p.ssim).collect::<Option<Vec<_>>>();
    Ok(Difference {
        identical: planes.iter().all(|p| p.max_error == 0),
        max_error: planes.iter().map(|p| p.max_error).max().unwrap_or(0),
        psnr: psnr(mse, 1.0),
        ssim: luma_ssim(a, b).unwrap_or_else(|| ssims.map(|s| s.iter().sum::<f64>() / s.len() as f64)),
        planes,
    })
}

fn check_comparable(a: &Image, b: &Image) -> Result<(), String> {
    if a.size != b.size {
        let (a, b) = (a.size, b.size);
        return Err(format!("sizes differ: {} × {} and {} × {}", a.width, a.height, b.width, b.height));
    }
    if a.planes.len() != b.planes.len() {
        return Err(format!("numbers of planes differ: {} and {}", a.planes.len(), b.planes.len()));
    }
    for (i, (a, b)) in a.planes.iter().zip(&b.planes).enumerate() {
        let (a, b) = (&a.info, &b.info);
        if (a.depth, a.signed) != (b.depth, b.signed) {
            let say = |depth, signed| format!("{depth} bits{}", if signed { " signed" } else { "" });
            return Err(format!("plane {i}: {} and {}", say(a.depth, a.signed), say(b.depth, b.signed)));
        }
        if a.subsampling != b.subsampling {
            return Err(format!("plane {i}: sub-sampling differs"));
        }
    }
    Ok(())
}

fn range(plane: &Plane) -> f64 {
    let (low, high) = plane.info.range();
    f64::from(high) - f64::from(low)
}

fn psnr(mse: f64, range: f64) -> Option<f64> {
    (mse > 0.0).then(|| 10.0 * (range * range / mse).log10())
}

fn compare_planes(a: &Plane, b: &Plane) -> PlaneDifference {
    let (mut max_error, mut sum) = (0, 0.0);
    for (a, b) in a.samples.data().iter().zip(b.samples.data()) {
        let error = a.abs_diff(*b);
        max_error = max_error.max(error);
        sum += f64::from(error) * f64::from(error);
    }
    let mse = sum / a.samples.data().len() as f64;
    let row_of = |plane: &Plane, y: usize, row: &mut Vec<f64>| {
        row.extend(plane.samples.row(y).iter().map(|&v| f64::from(v)));
    };
    let size = (a.samples.width(), a.samples.height());
    PlaneDifference {
        plane: crate::planes::label(&a.info),
        max_error,
        mse,
        psnr: psnr(mse, range(a)),
        ssim: ssim(size, range(a), |y, row| row_of(a, y, row), |y, row| row_of(b, y, row)),
    }
}

/// SSIM of the luma; none where the picture is not RGB of one depth.
fn luma_ssim(a: &Image, b: &Image) -> Option<Option<f64>> {
    let weights = [(PlaneKind::Red, 0.299), (PlaneKind::Green, 0.587), (PlaneKind::Blue, 0.114)];
    let indices = weights.map(|(kind, _)| a.planes.iter().position(|p| p.info.kind == kind));
    let indices = [indices[0]?, indices[1]?, indices[2]?];
    let [red, green, blue] = indices.map(|i| &a.planes[i]);
    if [green, blue]
        .iter()
        .any(|p| p.info.range() != red.info.range() || p.samples.width() != red.samples.width())
    {
        return None;
    }
    let row_of = |image: &Image, y: usize, row: &mut Vec<f64>| {
        row.resize(red.samples.width(), 0.0);
        for (i, (_, weight)) in indices.into_iter().zip(weights) {
            let samples = image.planes[i].samples.row(y);
            row.iter_mut().zip(samples).for_each(|(sum, &v)| *sum += weight * f64::from(v));
        }
    };
    let size = (red.samples.width(), red.samples.height());
    Some(ssim(size, range(red), |y, row| row_of(a, y, row), |y, row| row_of(b, y, row)))
}

fn gaussian() -> [f64; WINDOW] {
    let weight = |i: usize| (-((i as f64 - 5.0) / 1.5).powi(2) / 2.0).exp();
    let weights: [f64; WINDOW] = std::array::from_fn(weight);
    weights.map(|w| w / weights.iter().sum::<f64>())
}

/// Windowed sums over a row of a, b, a², b² and ab.
type Sums = [Vec<f64>; 5];

/// Mean SSIM of pictures whose rows are given by functions that append them to a buffer.
fn ssim(
    (width, height): (usize, usize),
    range: f64,
    row_of_a: impl Fn(usize, &mut Vec<f64>) + Sync,
    row_of_b: impl Fn(usize, &mut Vec<f64>) + Sync,
) -> Option<f64> {
    let (columns, rows) = ((width + 1).checked_sub(WINDOW)?, (height + 1).checked_sub(WINDOW)?);
    if columns == 0 || rows == 0 {
        return None;
    }
    let window = gaussian();
    let sums_of_row = |y: usize| -> Sums {
        let (mut a, mut b) = (Vec::with_capacity(width), Vec::with_capacity(width));
        row_of_a(y, &mut a);
        row_of_b(y, &mut b);
        let product = |f: fn(f64, f64) -> f64| -> Vec<f64> {
            let values: Vec<_> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
            values.windows(WINDOW).map(|v| v.iter().zip(&window).map(|(v, w)| v * w).sum()).collect()
        };
        [
            product(|a, _| a),
            product(|_, b| b),
            product(|a, _| a * a),
            product(|_, b| b * b),
            product(|a, b| a * b),
        ]
    };
    let band = |first: usize| {
        let mut recent: Vec<Sums> = (first..first + WINDOW - 1).map(sums_of_row).collect();
        let mut total = 0.0;
        for y in first..rows.min(first + BAND) {
            recent.push(sums_of_row(y + WINDOW - 1));
            total += sum_of_row(&recent, &window, columns, range);
            recent.remove(0);
        }
        total
    };
    let bands: Vec<f64> = (0..rows.div_ceil(BAND)).into_par_iter().map(|i| band(i * BAND)).collect();
    Some(bands.iter().sum::<f64>() / (rows * columns) as f64)
}

/// Sum of the SSIM of one row of windows.
fn sum_of_row(recent: &[Sums], window: &[f64; WINDOW], columns: usize, range: f64) -> f64 {
    let (c1, c2) = ((0.01 * range).powi(2), (0.03 * range).powi(2));
    let at = |x: usize| {
        let mean = |i: usize| recent.iter().zip(window).map(|(sums, w)| sums[i][x] * w).sum::<f64>();
        let [a, b, aa, bb, ab] = std::array::from_fn(mean);
        let (var_a, var_b, covariance) = (aa - a * a, bb - b * b, ab - a * b);
        (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (var_a + var_b + c2))
    };
    (0..columns).map(at).sum()
}

#[cfg(test)]
mod tests {
    use stepwell::Size;

    use super::*;

    const RGB: [PlaneKind; 3] = [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue];

    /// A picture with structure and noise.
    fn picture(kinds: &[PlaneKind], width: u32, height: u32) -> Image {
        let mut state = 1u32;
        let noise = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 27
        };
        let count = (width * height) as usize * kinds.len();
        let mut noise = noise;
        let samples: Vec<u8> = (0..count).map(|i| ((i / 7 % 200) as u32 + noise()) as u8).collect();
        Image::from_interleaved(Size::new(width, height), kinds, 8, &samples).unwrap()
    }

    #[test]
    fn identical_pictures_have_no_error() {
        let image = picture(&RGB, 40, 30);
        let d = compare(&image, &image.clone()).unwrap();
        assert!(d.identical);
        assert_eq!((d.max_error, d.psnr), (0, None));
        assert!((d.ssim.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_sample_off_by_one_is_found_and_gives_the_psnr_of_the_formula() {
        let image = picture(&RGB, 40, 30);
        let mut other = image.clone();
        other.planes[1].samples.set(39, 29, image.planes[1].samples.at(39, 29) + 1);
        let d = compare(&image, &other).unwrap();
        assert!(!d.identical);
        assert_eq!(d.max_error, 1);
        assert_eq!((d.planes[0].max_error, d.planes[1].max_error, d.planes[2].max_error), (0, 1, 0));
        // MSE of the plane 1/1200, of the picture 1/3600.
        assert!((d.planes[1].psnr.unwrap() - 10.0 * (255.0f64 * 255.0 * 1200.0).log10()).abs() < 1e-9);
        assert!((d.psnr.unwrap() - 10.0 * (255.0f64 * 255.0 * 3600.0).log10()).abs() < 1e-9);
        assert_eq!(d.planes[0].psnr, None);
        assert!(d.ssim.unwrap() < 1.0);
    }

    #[test]
    fn swapped_planes_are_found() {
        let image = picture(&RGB, 24, 24);
        let mut other = image.clone();
        let (red, blue) = (image.planes[0].samples.clone(), image.planes[2].samples.clone());
        (other.planes[0].samples, other.planes[2].samples) = (blue, red);
        let d = compare(&image, &other).unwrap();
        assert!(!d.identical && d.psnr.unwrap() < 60.0);
        assert_eq!(d.planes[1].max_error, 0);
        assert!(d.planes[0].max_error > 0 && d.planes[0].max_error == d.planes[2].max_error);
    }

    #[test]
    fn an_error_in_every_corner_lowers_ssim() {
        let image = picture(&[PlaneKind::Gray], 150, 140);
        let whole = compare(&image, &image).unwrap().ssim.unwrap();
        for (x, y) in [(0, 0), (149, 0), (0, 139), (149, 139), (75, 64)] {
            let mut other = image.clone();
            other.planes[0].samples.set(x, y, 255);
            assert!(compare(&image, &other).unwrap().ssim.unwrap() < whole, "({x}, {y})");
        }
    }

    #[test]
    fn pictures_smaller_than_the_window_have_no_ssim() {
        let image = picture(&RGB, 10, 40);
        assert_eq!(compare(&image, &image).unwrap().ssim, None);
    }

    #[test]
    fn psnr_uses_the_range_of_the_depth() {
        let deep = |v: u16| Image::from_interleaved(Size::new(1, 1), &[PlaneKind::Gray], 10, &[v]).unwrap();
        let d = compare(&deep(0), &deep(1023)).unwrap();
        assert_eq!(d.max_error, 1023);
        assert!(d.psnr.unwrap().abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let rgb = picture(&RGB, 12, 12);
        assert!(compare(&rgb, &picture(&RGB, 12, 13)).unwrap_err().contains("sizes differ"));
        assert!(compare(&rgb, &picture(&[PlaneKind::Gray], 12, 12)).unwrap_err().contains("planes differ"));
        let mut deeper = rgb.clone();
        deeper.planes[2].info.depth = 9;
        assert!(compare(&rgb, &deeper).unwrap_err().contains("plane 2"));
    }
}
