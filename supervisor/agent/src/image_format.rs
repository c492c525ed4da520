//! What kind of image data is, by how it begins.

/// A kind of image that models may be shown. Whether a model can read it is the model's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
    /// TIFF.
    Tiff,
    /// BMP.
    Bmp,
    /// HEIC.
    Heic,
    /// AVIF.
    Avif,
}

impl ImageFormat {
    /// How much of the data tells what it is, in bytes.
    pub const SIGNATURE_LENGTH: usize = 12;
    /// The names of all formats, for messages.
    pub const NAMES: &str = "PNG, JPEG, GIF, WebP, TIFF, BMP, HEIC and AVIF";

    /// The format of data that begins so.
    pub fn of(start: &[u8]) -> Option<Self> {
        const SIGNATURES: [(&[u8], ImageFormat); 7] = [
            (b"\x89PNG\r\n\x1a\n", ImageFormat::Png),
            (b"\xff\xd8\xff", ImageFormat::Jpeg),
            (b"GIF87a", ImageFormat::Gif),
            (b"GIF89a", ImageFormat::Gif),
            (b"II*\0", ImageFormat::Tiff),
            (b"MM\0*", ImageFormat::Tiff),
            (b"BM", ImageFormat::Bmp),
        ];
        if let Some((_, format)) = SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature)) {
            return Some(*format);
        }
        match (start.get(..4)?, start.get(4..8)?, start.get(8..12)?) {
            (b"RIFF", _, b"WEBP") => Some(Self::WebP),
            (_, b"ftyp", b"heic" | b"heix" | b"hevc" | b"mif1" | b"msf1") => Some(Self::Heic),
            (_, b"ftyp", b"avif") => Some(Self::Avif),
            _ => None,
        }
    }

    /// How the names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::WebP => "webp",
            Self::Tiff => "tiff",
            Self::Bmp => "bmp",
            Self::Heic => "heic",
            Self::Avif => "avif",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_how_they_begin() {
        let cases: [(&[u8], Option<&str>); 10] = [
            (b"\x89PNG\r\n\x1a\n", Some("png")),
            (b"\xff\xd8\xff\xe0", Some("jpg")),
            (b"GIF89a", Some("gif")),
            (b"RIFF\0\0\0\0WEBP", Some("webp")),
            (b"MM\0*", Some("tiff")),
            (b"BM", Some("bmp")),
            (b"\0\0\0\x18ftypmif1", Some("heic")),
            (b"\0\0\0\x18ftypavif", Some("avif")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"", None),
        ];
        for (start, extension) in cases {
            assert_eq!(ImageFormat::of(start).map(ImageFormat::extension), extension, "{start:?}");
        }
    }
}
