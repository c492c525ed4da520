//! Images in `data:` URLs. Others are not fetched.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use oam_agent::ImageFormat;
use percent_encoding::percent_decode_str;

use super::problem::{Problem, Result};

/// An image of a prompt.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) format: ImageFormat,
    pub(crate) data: Vec<u8>,
}

/// Without the data.
impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Clients leave padding and last bits as they like.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Image {
    /// The image that the URL holds.
    pub(crate) fn from_url(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once(':').unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "data" => {}
            "http" | "https" | "file" => {
                let predicate = "must be a 'data:' URL that holds the image; the server fetches nothing.";
                return Err(Problem::new("unsupported_image_url", predicate));
            }
            _ => return Err(invalid_url("must be a 'data:' URL.")),
        }
        let Some((media, data)) = rest.split_once(',') else {
            return Err(invalid_url("must have a comma before its data."));
        };
        let data = match media.rsplit(';').next() {
            Some(last) if last.trim().eq_ignore_ascii_case("base64") => base64(data),
            _ => Some(percent_decode_str(data).collect()),
        };
        let data = data.filter(|data| !data.is_empty());
        let data = data.ok_or_else(|| invalid_url("has no data that can be decoded."))?;
        let format = ImageFormat::of(&data).ok_or_else(|| {
            let predicate = format!("holds no image that is known here ({} are).", ImageFormat::NAMES);
            Problem::new("invalid_image", predicate)
        })?;
        Ok(Self { format, data })
    }
}

/// Characters that base64 does not have are skipped.
fn base64(text: &str) -> Option<Vec<u8>> {
    let is_known = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let known: Vec<u8> = percent_decode_str(text).take_while(|byte| *byte != b'=').filter(is_known).collect();
    LENIENT.decode(known).ok()
}

fn invalid_url(predicate: &str) -> Problem {
    Problem::new("invalid_image_url", predicate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[test]
    fn data_may_be_written_in_several_ways() {
        let base64 = PIXEL.trim_end_matches('=');
        let urls = [
            format!("data:image/png;base64,{PIXEL}"),
            format!("data:;base64,{base64}"),
            format!("DATA:image/png;charset=x;BASE64,{}\r\n{}", &PIXEL[..20], &PIXEL[20..]),
            format!("data:image/png;base64,{}", PIXEL.replace('/', "%2F").replace('=', "%3D")),
            "data:,%89PNG%0D%0A%1a%0a".to_owned(),
        ];
        for url in urls {
            assert_eq!(Image::from_url(&url).map(|image| image.format), Ok(ImageFormat::Png), "{url}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let cases = [
            ("https://example.com/a.png", "unsupported_image_url"),
            ("HTTP://example.com/a.png", "unsupported_image_url"),
            ("file:///etc/passwd", "unsupported_image_url"),
            ("ftp://example.com/a.png", "invalid_image_url"),
            ("", "invalid_image_url"),
            ("data:image/png;base64", "invalid_image_url"),
            ("data:image/png;base64,", "invalid_image_url"),
            ("data:image/png;base64,A", "invalid_image_url"),
            ("data:image/png;base64,AAAA", "invalid_image"),
            ("data:text/plain,hello", "invalid_image"),
        ];
        for (url, code) in cases {
            let error = crate::ApiError::from(Image::from_url(url).unwrap_err());
            assert_eq!(error.code, Some(code), "{url}");
        }
    }
}
