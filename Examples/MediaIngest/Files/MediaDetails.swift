/// The details that the header of a file tells beside its type.
struct MediaDetails: Hashable, Sendable {
  /// In pixels.
  var width: Int?
  var height: Int?
  /// In seconds.
  var duration: Double?

  static let none = MediaDetails()

  /// Reads part of a file: `count` bytes from `offset`, or fewer at the end of the file.
  typealias Reader<Failure: Error> = (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]

  init(width: Int? = nil, height: Int? = nil, duration: Double? = nil) {
    self.width = width
    self.height = height
    self.duration = duration
  }

  /// Reads the headers of a file of a known type.
  ///
  /// Values that make no sense are left out.
  init<Failure: Error>(_ type: MediaType, _ read: Reader<Failure>) throws(Failure) {
    switch type.name {
    case "image/png": self = Self.png(try read(0, 24))
    case "image/gif": self = Self.gif(try read(0, 10))
    case "image/jpeg": self = try Self.jpeg(read)
    case "audio/wav": self = try Self.wav(read)
    case "audio/aiff": self = try Self.aiff(read)
    case "audio/flac": self = Self.flac(try read(0, 26))
    case "video/x-msvideo": self = Self.avi(try read(0, 72))
    case "video/mp4", "video/quicktime", "audio/mp4": self = try Self.mp4(read)
    default: self = .none
    }
  }

  /// The maximum number of parts of a file that are searched.
  private static let limit = 1000

  private static func pixels(_ width: Int, _ height: Int) -> MediaDetails {
    width > 0 && height > 0 ? MediaDetails(width: width, height: height) : .none
  }

  private static func seconds(_ count: Double, per second: Double) -> MediaDetails {
    let duration = count / second
    return duration > 0 && duration.isFinite ? MediaDetails(duration: duration) : .none
  }

  // MARK: Pictures

  private static func png(_ head: [UInt8]) -> MediaDetails {
    guard head.count == 24, head.text(12) == "IHDR" else { return .none }
    return pixels(head.big(16, 4), head.big(20, 4))
  }

  private static func gif(_ head: [UInt8]) -> MediaDetails {
    guard head.count == 10 else { return .none }
    return pixels(head.little(6, 2), head.little(8, 2))
  }

  /// Follows the segments up to the one that begins the picture.
  private static func jpeg<Failure: Error>(_ read: Reader<Failure>) throws(Failure) -> MediaDetails
  {
    var offset: Int64 = 2
    for _ in 0..<limit {
      let segment = try read(offset, 9)
      guard segment.count == 9, segment[0] == 0xFF else { return .none }
      switch segment[1] {
      case 0xFF: offset += 1
      case 0x01, 0xD0...0xD8: offset += 2
      case 0xC4, 0xC8, 0xCC: offset += 2 + Int64(segment.big(2, 2))
      case 0xC0...0xCF: return pixels(segment.big(7, 2), segment.big(5, 2))
      // The picture begins, or the file ends, before the size was found.
      case 0xD9, 0xDA: return .none
      default: offset += 2 + Int64(segment.big(2, 2))
      }
    }
    return .none
  }

  // MARK: Sounds and films

  private static func wav<Failure: Error>(_ read: Reader<Failure>) throws(Failure) -> MediaDetails {
    var bytesPerSecond = 0
    var offset: Int64 = 12
    for _ in 0..<limit {
      let chunk = try read(offset, 20)
      guard chunk.count >= 8 else { return .none }
      let size = chunk.little(4, 4)
      switch chunk.text(0) {
      case "fmt " where chunk.count == 20: bytesPerSecond = chunk.little(16, 4)
      case "data": return seconds(Double(size), per: Double(bytesPerSecond))
      default: break
      }
      offset += 8 + Int64(size + size % 2)
    }
    return .none
  }

  private static func aiff<Failure: Error>(_ read: Reader<Failure>) throws(Failure) -> MediaDetails
  {
    var offset: Int64 = 12
    for _ in 0..<limit {
      let chunk = try read(offset, 26)
      guard chunk.count >= 8 else { return .none }
      let size = chunk.big(4, 4)
      if chunk.text(0) == "COMM", chunk.count == 26 {
        // The rate is an 80-bit floating-point number.
        let exponent = chunk.big(16, 2) - 16383 - 63
        let rate = Double(sign: .plus, exponent: exponent, significand: Double(chunk.bits(18)))
        return seconds(Double(chunk.big(10, 4)), per: rate)
      }
      offset += 8 + Int64(size + size % 2)
    }
    return .none
  }

  private static func flac(_ head: [UInt8]) -> MediaDetails {
    // The first block has 20 bits of sample rate, 8 other bits and 36 bits of sample
    // count.
    guard head.count == 26, head[4] & 0x7F == 0 else { return .none }
    let bits = head.bits(18)
    return seconds(Double(bits & 0xF_FFFF_FFFF), per: Double(bits >> 44))
  }

  private static func avi(_ head: [UInt8]) -> MediaDetails {
    guard head.count == 72, head.text(24) == "avih" else { return .none }
    var details = pixels(head.little(64, 4), head.little(68, 4))
    let microseconds = Double(head.little(32, 4)) * Double(head.little(48, 4))
    details.duration = seconds(microseconds, per: 1_000_000).duration
    return details
  }

  /// Finds the box `mvhd` in the box `moov`.
  private static func mp4<Failure: Error>(_ read: Reader<Failure>) throws(Failure) -> MediaDetails {
    var offset: Int64 = 0
    for _ in 0..<limit {
      let box = try read(offset, 40)
      guard box.count >= 16 else { return .none }
      var (size, header) = (Int64(box.big(0, 4)), Int64(8))
      if size == 1 { (size, header) = (Int64(clamping: box.bits(8)), 16) }
      switch box.text(4) {
      case "moov": offset += header
      case "mvhd" where box.count == 40 && box[8] == 0:
        return seconds(Double(box.big(24, 4)), per: Double(box.big(20, 4)))
      case "mvhd" where box.count == 40 && box[8] == 1:
        return seconds(Double(box.bits(32)), per: Double(box.big(28, 4)))
      default:
        let (next, isTooFar) = offset.addingReportingOverflow(size)
        guard size >= header, !isTooFar else { return .none }
        offset = next
      }
    }
    return .none
  }
}

extension [UInt8] {
  /// A big-endian number of up to four bytes.
  fileprivate func big(_ offset: Int, _ length: Int) -> Int {
    self[offset..<offset + length].reduce(0) { $0 << 8 | Int($1) }
  }

  /// A little-endian number of up to four bytes.
  fileprivate func little(_ offset: Int, _ length: Int) -> Int {
    self[offset..<offset + length].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// A big-endian number of eight bytes.
  fileprivate func bits(_ offset: Int) -> UInt64 {
    self[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// A text of four letters.
  fileprivate func text(_ offset: Int) -> String {
    String(decoding: self[offset..<offset + 4], as: UTF8.self)
  }
}
