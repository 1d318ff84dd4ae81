import Futures

/// A reference that is nil at first and is set once.
///
/// The same as `AtomicLazyReference`, which is not specialised outside its library: every
/// load there looks up generic metadata, which took a quarter of the time of an empty
/// task.
struct OnceReference<Object: AnyObject>: ~Copyable, @unchecked Sendable {
  // Sendable: the pointer is atomic and retained by this value; it changes from nil once,
  // and is released by deinit.
  private let pointer = Atomic<UInt>(0)

  @inline(__always)
  func load() -> Object? { Self.object(pointer.load(ordering: .acquiring)) }

  @inline(__always)
  var isSet: Bool { pointer.load(ordering: .relaxed) != 0 }

  /// Sets the reference unless it is set already.
  ///
  /// Returns the stored reference.
  func storeIfNil(_ object: Object) -> Object {
    let bits = UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
    let (isExchanged, existing) = pointer.compareExchange(
      expected: 0, desired: bits, ordering: .acquiringAndReleasing)
    if isExchanged { return object }
    Unmanaged.passUnretained(object).release()
    return Self.object(existing) ?? object
  }

  @inline(__always)
  private static func object(_ bits: UInt) -> Object? {
    UnsafeRawPointer(bitPattern: bits).map {
      Unmanaged<Object>.fromOpaque($0).takeUnretainedValue()
    }
  }

  deinit {
    if let pointer = UnsafeRawPointer(bitPattern: pointer.load(ordering: .acquiring)) {
      Unmanaged<Object>.fromOpaque(pointer).release()
    }
  }
}
