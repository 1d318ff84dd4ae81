/// Storage for one value, without the value's type.
///
/// A property of type `Success?` would do the same, but makes a link a twentieth slower.
/// The code that destroys a generic object asks for the metadata of the types of all its
/// properties, and the metadata of an optional has to be looked up. This type is not
/// generic.
///
///   empty ── initialize ──▶ full ── deinitialize ──▶ empty
///
/// The owner has to know the state and the type. Reading an empty room, or reading with
/// another type, is undefined. A value gets memory of its own if it does not fit into
/// three words, or cannot be moved bit by bit (as with weak references).
@usableFromInline
struct ValueRoom {
  @usableFromInline typealias Words = (UInt, UInt, UInt)
  @usableFromInline var words: Words = (0, 0, 0)

  @inlinable
  init() {}

  /// Whether values of a type are stored in the words.
  ///
  /// The compiler knows the answer when it specialises the code.
  //
  // `_isBitwiseTakable` is needed for existentials: reading copies the words, and the
  // copy is a value only if a bitwise copy is enough to move it.
  @inlinable @inline(__always)
  static func hasRoom<Value>(for: Value.Type) -> Bool {
    MemoryLayout<Value>.size <= MemoryLayout<Words>.size
      && MemoryLayout<Value>.alignment <= MemoryLayout<Words>.alignment
      && _isBitwiseTakable(Value.self)
  }

  /// The memory of a value that does not fit into the words.
  @inlinable @inline(__always)
  func outside<Value>(_: Value.Type) -> UnsafeMutablePointer<Value> {
    guard let memory = UnsafeMutablePointer<Value>(bitPattern: words.0) else {
      preconditionFailure("the room is empty")
    }
    return memory
  }

  /// Stores a value in an empty room.
  @inlinable @inline(__always)
  mutating func initialize<Value>(to value: Value) {
    if Self.hasRoom(for: Value.self) {
      withUnsafeMutablePointer(to: &words) {
        _ = UnsafeMutableRawPointer($0).initializeMemory(as: Value.self, to: value)
      }
    } else {
      let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
      memory.initialize(to: value)
      words.0 = UInt(bitPattern: memory)
    }
  }

  /// Returns the value in a full room.
  @inlinable @inline(__always)
  func value<Value>(as type: Value.Type) -> Value {
    guard Self.hasRoom(for: type) else { return outside(type).pointee }
    return withUnsafePointer(to: words) {
      UnsafeRawPointer($0).assumingMemoryBound(to: type).pointee
    }
  }

  /// Removes the value from a full room.
  @inlinable @inline(__always)
  mutating func deinitialize<Value>(as type: Value.Type) {
    if Self.hasRoom(for: type) {
      withUnsafeMutablePointer(to: &words) {
        _ = UnsafeMutableRawPointer($0).assumingMemoryBound(to: type).deinitialize(count: 1)
      }
    } else {
      let memory = outside(type)
      memory.deinitialize(count: 1)
      memory.deallocate()
    }
  }
}
