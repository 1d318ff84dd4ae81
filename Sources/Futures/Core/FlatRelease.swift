import Foundation

/// Releases nested values one after the other, without recursion.
package enum FlatRelease {
  private final class Waiting {
    var values: [Any] = []
  }

  private static let key = makeThreadKey()

  /// Releases a value now, or after the value that this thread is releasing.
  package static func release<Value>(_ value: consuming Value) {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<Waiting>.fromOpaque(pointer).takeUnretainedValue().values.append(value)
    }
    let waiting = Waiting()
    waiting.values.append(value)
    pthread_setspecific(key, Unmanaged.passUnretained(waiting).toOpaque())
    while waiting.values.popLast() != nil {}
    pthread_setspecific(key, nil)
  }
}
