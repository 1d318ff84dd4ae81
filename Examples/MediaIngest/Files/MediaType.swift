/// The type of a file, recognised by its first bytes.
struct MediaType: Codable, Hashable, Sendable {
  /// The MIME type, such as `image/png`.
  let name: String

  init(_ name: String) { self.name = name }

  init(from decoder: any Decoder) throws {
    name = try decoder.singleValueContainer().decode(String.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }

  /// The number of bytes needed to recognise a type.
  static let headLength = 64

  static let unknown = MediaType("application/octet-stream")

  /// Recognises the type from the beginning of a file.
  init(head: some Collection<UInt8>) {
    let head = Array(head.prefix(Self.headLength))
    let match = Self.signatures.first { signature in signature.fits(head) }
    self = match?.type ?? .unknown
  }

  /// Bytes at certain positions that identify a type.
  private struct Signature: Sendable {
    let type: MediaType
    let parts: [(offset: Int, bytes: [UInt8])]

    /// - Parameter parts: ASCII texts by their positions.
    init(_ type: String, _ parts: KeyValuePairs<Int, String>) {
      self.type = MediaType(type)
      self.parts = parts.map { ($0.key, $0.value.unicodeScalars.map { UInt8($0.value) }) }
    }

    func fits(_ head: [UInt8]) -> Bool {
      parts.allSatisfy { head.dropFirst($0.offset).starts(with: $0.bytes) }
    }
  }

  /// The most specific signatures come first: many formats share a container.
  private static let signatures: [Signature] = [
    Signature("image/jpeg", [0: "\u{FF}\u{D8}\u{FF}"]),
    Signature("image/png", [0: "\u{89}PNG\r\n\u{1A}\n"]),
    Signature("image/gif", [0: "GIF87a"]),
    Signature("image/gif", [0: "GIF89a"]),
    Signature("image/webp", [0: "RIFF", 8: "WEBP"]),
    Signature("audio/wav", [0: "RIFF", 8: "WAVE"]),
    Signature("video/x-msvideo", [0: "RIFF", 8: "AVI "]),
    Signature("image/heic", [4: "ftypheic"]),
    Signature("image/heic", [4: "ftypheix"]),
    Signature("image/heif", [4: "ftypmif1"]),
    Signature("image/avif", [4: "ftypavif"]),
    Signature("video/quicktime", [4: "ftypqt  "]),
    Signature("audio/mp4", [4: "ftypM4A "]),
    Signature("video/mp4", [4: "ftyp"]),
    Signature("image/tiff", [0: "II*\0"]),
    Signature("image/tiff", [0: "MM\0*"]),
    Signature("image/jxl", [0: "\0\0\0\u{C}JXL \r\n\u{87}\n"]),
    Signature("image/jxl", [0: "\u{FF}\u{A}"]),
    Signature("image/vnd.adobe.photoshop", [0: "8BPS"]),
    // Two letters alone prove little, but these four bytes are always zero.
    Signature("image/bmp", [0: "BM", 6: "\0\0\0\0"]),
    Signature("video/webm", [0: "\u{1A}\u{45}\u{DF}\u{A3}", 31: "webm"]),
    Signature("video/x-matroska", [0: "\u{1A}\u{45}\u{DF}\u{A3}"]),
    Signature("audio/flac", [0: "fLaC"]),
    Signature("application/ogg", [0: "OggS"]),
    Signature("audio/midi", [0: "MThd"]),
    Signature("audio/mpeg", [0: "ID3"]),
    Signature("audio/mpeg", [0: "\u{FF}\u{FB}"]),
    Signature("audio/aiff", [0: "FORM", 8: "AIFF"]),
    Signature("application/pdf", [0: "%PDF-"]),
    Signature("application/zip", [0: "PK\u{3}\u{4}"]),
    Signature("application/gzip", [0: "\u{1F}\u{8B}\u{8}"]),
  ]
}
