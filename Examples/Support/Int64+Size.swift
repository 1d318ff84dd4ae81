import Foundation

extension Int64 {
  /// A number of bytes for people: `1.4 MiB`.
  package var asSize: String {
    var (value, unit) = (Double(self), "bytes")
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] where value >= 1024 {
      (value, unit) = (value / 1024, larger)
    }
    return unit == "bytes" ? of("byte") : String(format: "%.1f %@", value, unit)
  }
}
