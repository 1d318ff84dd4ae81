import Foundation

/// The SHA-256 digest.
///
/// OpenSSL computes it if its library is installed, with the instructions that many
/// processors have for it. Otherwise `PortableSHA256` does.
struct SHA256: ~Copyable {
  private var portable = PortableSHA256()
  private let library: Library?
  /// A `SHA256_CTX` of OpenSSL, which has 112 bytes.
  private var context = SIMD16<UInt64>()

  /// - Parameter isPortable: Whether OpenSSL is not used even if it is installed.
  init(isPortable: Bool = false) {
    library = isPortable ? nil : .installed
    _ = library?.begin(&context)
  }

  /// Adds the next bytes.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let library else { return portable.update(bytes) }
    if let start = bytes.baseAddress { _ = library.update(&context, start, bytes.count) }
  }

  /// Returns the digest of all bytes as 64 hexadecimal digits.
  consuming func finalize() -> String {
    var bytes = [UInt8](repeating: 0, count: 32)
    if let library {
      _ = library.end(&bytes, &context)
    } else {
      bytes = portable.finalize()
    }
    let digits = Array("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: 64) { text in
      for (i, byte) in bytes.enumerated() {
        text[2 * i] = digits[Int(byte >> 4)]
        text[2 * i + 1] = digits[Int(byte & 15)]
      }
      return 64
    }
  }
}

/// The functions of OpenSSL that compute the digest.
///
/// They are looked up by name, because the program also runs without the library.
private struct Library: Sendable {
  typealias Begin = @convention(c) (UnsafeMutableRawPointer) -> Int32
  typealias Update =
    @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer, Int) -> Int32
  typealias End =
    @convention(c) (UnsafeMutablePointer<UInt8>, UnsafeMutableRawPointer) -> Int32

  let begin: Begin
  let update: Update
  let end: End

  /// The library, if it is installed.
  static let installed = Library("libcrypto.so.3") ?? Library("libcrypto.so.1.1")

  private init?(_ name: String) {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL),
      let begin = dlsym(library, "SHA256_Init"), let update = dlsym(library, "SHA256_Update"),
      let end = dlsym(library, "SHA256_Final")
    else { return nil }
    self.begin = unsafeBitCast(begin, to: Begin.self)
    self.update = unsafeBitCast(update, to: Update.self)
    self.end = unsafeBitCast(end, to: End.self)
  }
}
