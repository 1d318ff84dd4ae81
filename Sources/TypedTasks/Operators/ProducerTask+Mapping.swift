import Foundation
import Futures

// Each operator is one operation that waits for its upstream. Only the last operator of a
// chain is added to a queue.
//
// The form of `map` with one key path is disfavored: otherwise the compiler tries it for the
// closures of a chain, too, and needs twice the time for each further link.

extension ProducerTask {
  /// Transforms the value.
  ///
  /// Errors pass through unchanged. The returned task takes part in a queue like any task. It
  /// asks for a slot when its upstream has finished, and runs at once in the upstream's slot if
  /// that has taken less than a millisecond. Add the last operator of a chain to a queue:
  /// upstreams that are in no queue are added with it.
  ///
  /// - Parameter transform: Makes the new value.
  @inlinable
  public final func map<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> {
    stage("map", .success) { task, source in task.succeed(with: transform(source.settledValue)) }
  }

  /// Takes a property of the value.
  ///
  /// - Parameter keyPath: The property.
  @_disfavoredOverload
  public final func map<Value: Sendable>(
    _ keyPath: any KeyPath<Output, Value> & Sendable
  ) -> ProducerTask<Value, Failure> { map { $0[keyPath: keyPath] } }

  /// Takes two properties of the value.
  ///
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  public final func map<First: Sendable, Second: Sendable>(
    _ first: any KeyPath<Output, First> & Sendable, _ second: any KeyPath<Output, Second> & Sendable
  ) -> ProducerTask<(First, Second), Failure> {
    map { ($0[keyPath: first], $0[keyPath: second]) }
  }

  /// Takes three properties of the value.
  ///
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  ///   - third: The third property.
  public final func map<First: Sendable, Second: Sendable, Third: Sendable>(
    _ first: any KeyPath<Output, First> & Sendable,
    _ second: any KeyPath<Output, Second> & Sendable,
    _ third: any KeyPath<Output, Third> & Sendable
  ) -> ProducerTask<(First, Second, Third), Failure> {
    map { ($0[keyPath: first], $0[keyPath: second], $0[keyPath: third]) }
  }

  /// Transforms the value, or fails.
  ///
  /// An error that the closure throws is the `.provided` error. An error of this task
  /// keeps its value and loses its type.
  ///
  /// - Parameter transform: Makes the new value.
  public final func tryMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) throws -> NewOutput
  ) -> ProducerTask<NewOutput, any Error> {
    stage("tryMap", .success, convert: converting(to: (any Error).self)) { task, source in
      task.settle(trying: { try transform(source.settledValue) })
    }
  }

  /// Transforms the value, or fails with this task's type of failure.
  ///
  /// - Parameters:
  ///   - type: The type of failure. A task that cannot fail gets one by
  ///     ``setFailureType(to:)``.
  ///   - transform: Makes the new value, or throws an error of that type.
  public final func tryMap<NewOutput: Sendable>(
    throwing type: Failure.Type,
    _ transform: @escaping @Sendable (Output) throws(Failure) -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> {
    stage("tryMap", .success) { task, source in
      task.settle(trying: { () throws(Failure) in try transform(source.settledValue) })
    }
  }

  /// Continues with another task.
  ///
  /// The task that the closure returns is put in this task's queue, if it is in none. If that
  /// queue is no ``TaskQueue``, nothing tells which queue it is, and the closure's task runs in
  /// `Promises.defaultOperationQueue`. Its result is the result of the operator, which holds no
  /// slot meanwhile. Errors pass through unchanged. Cancelling the operator cancels the
  /// closure's task, unless you have added that task to a queue yourself or it has other
  /// consumers.
  ///
  /// - Parameter transform: Makes the task to continue with: a task with the same type of
  ///   failure, or one that cannot fail; any task if this task cannot fail.
  @_disfavoredOverload
  public final func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, Failure> where T.Failure == Failure {
    stage("flatMap", [.success, .following]) { task, source in
      task.follow(transform(source.settledValue))
    }
  }

  /// Transforms the value, or fails with ``ProducerTaskError/nilOutput`` if the result is
  /// `nil`.
  ///
  /// - Parameter transform: Makes the new value, or `nil`.
  public final func compactMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput?
  ) -> ProducerTask<NewOutput, Failure> {
    stage("compactMap", .success) { task, source in
      task.settle(tryingOptional: { transform(source.settledValue) })
    }
  }

  /// Transforms the value, or fails.
  ///
  /// `nil` fails with ``ProducerTaskError/nilOutput``. An error that the closure throws
  /// is the `.provided` error.
  ///
  /// - Parameter transform: Makes the new value, or `nil`.
  public final func tryCompactMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) throws -> NewOutput?
  ) -> ProducerTask<NewOutput, any Error> {
    stage("tryCompactMap", .success, convert: converting(to: (any Error).self)) { task, source in
      task.settle(tryingOptional: { try transform(source.settledValue) })
    }
  }

  /// Transforms the value, or fails with this task's type of failure.
  ///
  /// `nil` fails with ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameters:
  ///   - type: The type of failure.
  ///   - transform: Makes the new value, or `nil`, or throws an error of that type.
  public final func tryCompactMap<NewOutput: Sendable>(
    throwing type: Failure.Type,
    _ transform: @escaping @Sendable (Output) throws(Failure) -> NewOutput?
  ) -> ProducerTask<NewOutput, Failure> {
    stage("tryCompactMap", .success) { task, source in
      task.settle(tryingOptional: { () throws(Failure) in try transform(source.settledValue) })
    }
  }

  /// Replaces `nil` with a value.
  ///
  /// - Parameter output: Makes the value; called only if it is needed.
  public final func replaceNil<NonNil: Sendable>(
    with output: @escaping @Sendable () -> NonNil
  ) -> ProducerTask<NonNil, Failure> where Output == NonNil? { map { $0 ?? output() } }

  /// Replaces `nil` with a value.
  ///
  /// - Parameter output: The value.
  @_disfavoredOverload
  public final func replaceNil<NonNil: Sendable>(
    with output: NonNil
  ) -> ProducerTask<NonNil, Failure> where Output == NonNil? { map { $0 ?? output } }

  /// Drops the value.
  public final func ignoreOutput() -> VoidTask<Failure> { map { _ in () } }

  /// Puts a value in the place of the one that a `filter`, `compactMap` or
  /// `first` above did not have.
  ///
  /// It replaces ``ProducerTaskError/nilOutput``; all other errors pass through
  /// unchanged.
  ///
  /// - Parameter output: The value.
  public final func replaceEmpty(with output: Output) -> ProducerTask<Output, Failure> {
    stage("replaceEmpty", .failure) { task, source in
      let produced = source.settledProduced
      if case .failure(.internal(ProducerTaskError.nilOutput)) = produced {
        task.succeed(with: output)
      } else {
        task.settle(produced, from: .closure)
      }
    }
  }

  /// Passes the value on if it meets a test; otherwise fails with
  /// ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameter isIncluded: The test.
  public final func filter(
    _ isIncluded: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Output, Failure> {
    stage("filter", .success) { task, source in
      let value = source.settledValue
      task.settle(tryingOptional: { isIncluded(value) ? value : nil })
    }
  }

  /// Passes the value on if it meets a test that may throw.
  ///
  /// - Parameter isIncluded: The test; a thrown error is the `.provided` error.
  public final func tryFilter(
    _ isIncluded: @escaping @Sendable (Output) throws -> Bool
  ) -> ProducerTask<Output, any Error> {
    tryCompactMap { try isIncluded($0) ? $0 : nil }
  }

  /// Passes the value on if it meets a test that may throw this task's type of failure.
  ///
  /// - Parameters:
  ///   - type: The type of failure.
  ///   - isIncluded: The test; a thrown error is the `.provided` error.
  public final func tryFilter(
    throwing type: Failure.Type,
    _ isIncluded: @escaping @Sendable (Output) throws(Failure) -> Bool
  ) -> ProducerTask<Output, Failure> {
    tryCompactMap(throwing: type) { value throws(Failure) in
      try isIncluded(value) ? value : nil
    }
  }

  /// Whether the value meets a test.
  ///
  /// - Parameter predicate: The test.
  public final func allSatisfy(
    _ predicate: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Bool, Failure> { map(predicate) }

  /// Whether the value meets a test that may throw.
  ///
  /// - Parameter predicate: The test; a thrown error is the `.provided` error.
  public final func tryAllSatisfy(
    _ predicate: @escaping @Sendable (Output) throws -> Bool
  ) -> ProducerTask<Bool, any Error> { tryMap(predicate) }

  /// Whether the value meets a test.
  ///
  /// - Parameter predicate: The test.
  public final func contains(
    where predicate: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Bool, Failure> { map(predicate) }

  /// Whether the value meets a test that may throw.
  ///
  /// - Parameter predicate: The test; a thrown error is the `.provided` error.
  public final func tryContains(
    where predicate: @escaping @Sendable (Output) throws -> Bool
  ) -> ProducerTask<Bool, any Error> { tryMap(predicate) }

  /// Whether the value equals a given value.
  ///
  /// - Parameter value: The given value.
  public final func contains(_ value: Output) -> ProducerTask<Bool, Failure>
  where Output: Equatable { map { $0 == value } }
}

extension ProducerTask where Output: Sequence & Sendable, Output.Element: Sendable {
  /// The first element, or a failure with ``ProducerTaskError/nilOutput``.
  public final func first() -> ProducerTask<Output.Element, Failure> {
    compactMap { $0.first { _ in true } }
  }

  /// The first element that meets a test, or a failure with
  /// ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameter predicate: The test.
  public final func first(
    where predicate: @escaping @Sendable (Output.Element) -> Bool
  ) -> ProducerTask<Output.Element, Failure> { compactMap { $0.first(where: predicate) } }

  /// The first element that meets a test that may throw, or a failure with
  /// ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameter predicate: The test; a thrown error is the `.provided` error.
  public final func tryFirst(
    where predicate: @escaping @Sendable (Output.Element) throws -> Bool
  ) -> ProducerTask<Output.Element, any Error> { tryCompactMap { try $0.first(where: predicate) } }
}

extension ProducerTask {
  /// Decodes a value from the value of this task.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - decoder: The decoder; its error is the `.provided` error.
  public final func decode<Item: Decodable & Sendable, Decoder: TaskDecoder>(
    type: Item.Type, decoder: Decoder
  ) -> ProducerTask<Item, any Error> where Output == Decoder.Input {
    // Sendable: a decoder is configured once and then only used.
    nonisolated(unsafe) let decoder = decoder
    return stage("decode", .success, convert: converting(to: (any Error).self)) { task, source in
      task.settle(trying: { try decoder.decode(type, from: source.settledValue) })
    }
  }

  /// Encodes the value.
  ///
  /// - Parameter encoder: The encoder; its error is the `.provided` error.
  public final func encode<Encoder: TaskEncoder>(
    encoder: Encoder
  ) -> ProducerTask<Encoder.Output, any Error> where Output: Encodable {
    // Sendable: an encoder is configured once and then only used.
    nonisolated(unsafe) let encoder = encoder
    return stage("encode", .success, convert: converting(to: (any Error).self)) { task, source in
      task.settle(trying: { try encoder.encode(source.settledValue) })
    }
  }
}

/// A type that decodes values, such as `JSONDecoder` and `PropertyListDecoder`.
public protocol TaskDecoder {
  /// The type of the encoded data.
  associatedtype Input: Sendable
  /// Decodes a value.
  func decode<Item: Decodable>(_ type: Item.Type, from input: Input) throws -> Item
}

/// A type that encodes values, such as `JSONEncoder` and `PropertyListEncoder`.
public protocol TaskEncoder {
  /// The type of the encoded data.
  associatedtype Output: Sendable
  /// Encodes a value.
  func encode<Item: Encodable>(_ item: Item) throws -> Output
}

extension JSONDecoder: TaskDecoder {}
extension JSONEncoder: TaskEncoder {}
extension PropertyListDecoder: TaskDecoder {}
extension PropertyListEncoder: TaskEncoder {}

extension OperatorTask {
  /// Settles with the value that a closure returns, or the error that it throws.
  func settle(trying body: () throws(Failure) -> Output) {
    do throws(Failure) { succeed(with: try body()) } catch { fail(thrown: error) }
  }

  /// Settles with the value that a closure returns, or the error that it throws; `nil` is
  /// an error.
  func settle(tryingOptional body: () throws(Failure) -> Output?) {
    do throws(Failure) {
      if let value = try body() {
        succeed(with: value)
      } else {
        fail(with: .internal(ProducerTaskError.nilOutput))
      }
    } catch {
      fail(thrown: error)
    }
  }
}
