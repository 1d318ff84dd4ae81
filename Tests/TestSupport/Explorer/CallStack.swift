#if PROPERATIONS_EXPLORER

  import Foundation

  /// The functions of the package that the calling thread is in, innermost first.
  ///
  /// They are known only if the test program exports its symbols, as `.ci/explore` makes
  /// it do (`-Xlinker --export-dynamic`). Otherwise the list is empty.
  enum CallStack {
    private typealias Demangle =
      @convention(c) (
        UnsafePointer<CChar>, Int, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UInt32
      ) -> UnsafeMutablePointer<CChar>?

    private static let demangle: Demangle? = dlsym(nil, "swift_demangle").map {
      unsafeBitCast($0, to: Demangle.self)
    }

    /// Functions that only lead to a scheduling point or to a program.
    private static let uninteresting = [
      "TestSupport.", "Futures.SchedulingPoints", "Futures.Lock.", "Futures.Atomic.",
      "Futures.unexplored", "Foundation.", "Swift.", "Synchronization.",
    ]

    static func functions(atMost limit: Int) -> [String] {
      var names: [String] = []
      for line in Thread.callStackSymbols where names.count < limit {
        guard let name = name(in: line), name != names.last,
          !uninteresting.contains(where: name.hasPrefix)
        else { continue }
        names.append(name)
      }
      return names
    }

    /// The name in `program($s7Futures...+0x12) [0x...]`.
    private static func name(in line: String) -> String? {
      guard let start = line.range(of: "($s")?.lowerBound,
        let end = line[start...].firstIndex(of: "+"), let demangle
      else { return nil }
      let mangled = String(line[line.index(after: start)..<end])
      guard let demangled = demangle(mangled, mangled.utf8.count, nil, nil, 0) else { return nil }
      defer { free(demangled) }
      return short(String(cString: demangled))
    }

    /// The name without types, and without the scopes around it.
    private static func short(_ name: String) -> String {
      var plain = name.replacingOccurrences(
        of: #"\(extension in \w+\):|static |merged "#, with: "", options: .regularExpression)
      plain = plain.replacingOccurrences(
        of: #"\((\w+) in _[0-9A-F]+\)"#, with: "$1", options: .regularExpression)
      plain = plain.components(separatedBy: " in ").last ?? plain
      return String(plain.prefix { !"(<: ".contains($0) })
    }
  }

#endif
