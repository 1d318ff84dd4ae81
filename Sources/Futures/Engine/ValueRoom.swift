/// Storage for one value, without its type.
///
/// A property of type `Success?` would do the same, and cost a twentieth of a
/// link: the code that destroys a generic object asks for the metadata of the types
/// of all its properties, and those of an optional have to be looked up. This type
/// is not generic.
///
///   empty ── initialize ──▶ full ── deinitialize ──▶ empty
///
/// The owner has to know the state and the type: reading an empty room, or with
/// another type, is undefined. A value that does not fit into three words, or that
/// cannot be moved bit by bit (as with weak references), gets memory of its own.
@usableFromInline
struct ValueRoom {
  @usableFromInline typealias Words = (UInt, UInt, UInt)
  @usableFromInline var words: Words = (0, 0, 0)

  @inlinable
  init() {}

  /// Whether values of a type are in the words; known when the code is
  /// specialised.
  //
  // Existentials ask `_isBitwiseTakable`, too: reading copies the words, and the
  // copy is a value only if moving it means no more than that.
  @inlinable @inline(__always)
  static func hasRoom<Value>(for: Value.Type) -> Bool {
    MemoryLayout<Value>.size <= MemoryLayout<Words>.size
      && MemoryLayout<Value>.alignment <= MemoryLayout<Words>.alignment
      && _isBitwiseTakable(Value.self)
  }

  /// The memory of a value that does not fit.
  @inlinable @inline(__always)
  func outside<Value>(_: Value.Type) -> UnsafeMutablePointer<Value> {
    guard let memory = UnsafeMutablePointer<Value>(bitPattern: words.0) else {
      preconditionFailure("the room is empty")
    }
    return memory
  }

  /// Puts a value into an empty room.
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

  /// The value in a full room.
  @inlinable @inline(__always)
  func value<Value>(as type: Value.Type) -> Value {
    guard Self.hasRoom(for: type) else { return outside(type).pointee }
    return withUnsafePointer(to: words) {
      UnsafeRawPointer($0).assumingMemoryBound(to: type).pointee
    }
  }

  /// Takes the value out of a full room.
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
