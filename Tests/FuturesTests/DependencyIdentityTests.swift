import Foundation
import Futures
import TestSupport
import Testing

/// A future among an operation's dependencies is that future, from both sides.
@Suite("A future as a dependency", .timeLimit(.minutes(5)), .oneAtATime)
struct DependencyIdentityTests {
  @Test func `a future and the dependency that stands for it are equal from both sides`() throws {
    let (promise, operation) = (Promise<Int>(), BlockOperation {})
    operation.addDependency(promise)
    let dependency = try #require(operation.dependencies.first)
    let other = Promise<Int>()
    #expect(operation.dependencies.count == 1)
    #expect(dependency == promise)
    #expect(dependency != other)
    #expect(dependency.hash == promise.hash)
    #expect(promise as Operation == dependency)
    #expect(promise.isEqual(dependency))
    #expect(Set<Operation>([promise]).contains(dependency))
    #expect(Set<Operation>([dependency]).contains(promise))
    #expect(other as Operation != dependency)
    promise.cancel()
  }

  @Test func `a dependency on a future is found among the dependencies`() {
    let (promise, operation) = (Promise<Int>(), BlockOperation {})
    operation.addDependency(promise)
    #expect(operation.dependencies.contains(promise))
    #expect(operation.dependencies.firstIndex(of: promise) == 0)
    #expect(operation.dependencies == [promise])
    #expect([promise] as [Operation] == operation.dependencies)
    promise.cancel()
  }

  /// By what type the future is known where the dependency is taken back.
  enum KnownAs: CaseIterable { case promise, future }

  // (Known as an `Operation` only, Foundation's own method is called: no override
  // can stand in an extension.)
  @Test(arguments: KnownAs.allCases)
  func `removeDependency takes a future back, by whatever type it is known`(_ known: KnownAs) async
  {
    let (promise, queue, ran) = (Promise<Int>(), OperationQueue(), Event())
    let operation = BlockOperation { ran.signal() }
    operation.addDependency(promise)
    switch known {
    case .promise: operation.removeDependency(promise)
    case .future: operation.removeDependency(promise as AnyFuture)
    }
    queue.addOperation(operation)
    let (isEmpty, isReady) = (operation.dependencies.isEmpty, operation.isReady)
    let hasRun = await ran.opened()
    #expect(isEmpty)
    #expect(isReady)
    #expect(hasRun)
    promise.cancel()
    queue.cancelAllOperations()
  }

  @Test func `named twice by different types, a future is one dependency`() {
    let (promise, operation) = (Promise<Int>(), BlockOperation {})
    operation.addDependency(promise)
    operation.addDependency(promise as AnyFuture)
    #expect(operation.dependencies.count == 1)
    operation.removeDependency(promise)
    #expect(operation.dependencies.isEmpty)
    #expect(operation.isReady)
  }
}
