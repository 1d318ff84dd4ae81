/// A task that produces no value.
public typealias VoidTask<Failure: Error> = ProducerTask<Void, Failure>
/// A task that produces no value and whose work cannot fail.
public typealias NonFailTask = ProducerTask<Void, Never>
/// A task whose work cannot fail.
public typealias NonFailProducerTask<Output: Sendable> = ProducerTask<Output, Never>

/// A consumer that produces no value.
public typealias ConsumerTask<Input: Sendable, Failure: Error> =
  ConsumerProducerTask<Input, Void, Failure>
/// A consumer that produces no value and whose work cannot fail.
public typealias NonFailConsumerTask<Input: Sendable> = ConsumerTask<Input, Never>
/// A consumer whose work cannot fail.
public typealias NonFailConsumerProducerTask<Input: Sendable, Output: Sendable> =
  ConsumerProducerTask<Input, Output, Never>

/// A group that produces no value.
public typealias GroupTask<Failure: Error> = GroupProducerTask<Void, Failure>
/// A group that produces no value and cannot fail by itself.
public typealias NonFailGroupTask = GroupTask<Never>
/// A group that cannot fail by itself.
public typealias NonFailGroupProducerTask<Output: Sendable> = GroupProducerTask<Output, Never>

/// A group that consumes, and produces no value.
public typealias GroupConsumerTask<Input: Sendable, Failure: Error> =
  GroupConsumerProducerTask<Input, Void, Failure>
/// A group that consumes, produces no value and cannot fail by itself.
public typealias NonFailGroupConsumerTask<Input: Sendable> = GroupConsumerTask<Input, Never>
/// A group that consumes and cannot fail by itself.
public typealias NonFailGroupConsumerProducerTask<Input: Sendable, Output: Sendable> =
  GroupConsumerProducerTask<Input, Output, Never>

/// A closure as a task that produces no value.
public typealias BlockTask<Failure: Error> = BlockProducerTask<Void, Failure>
/// A closure as a task that produces no value and cannot fail.
public typealias NonFailBlockTask = BlockTask<Never>
/// A closure as a task that cannot fail.
public typealias NonFailBlockProducerTask<Output: Sendable> = BlockProducerTask<Output, Never>

/// A closure as a consumer that produces no value.
public typealias BlockConsumerTask<Input: Sendable, Failure: Error> =
  BlockConsumerProducerTask<Input, Void, Failure>
/// A closure as a consumer that produces no value and cannot fail.
public typealias NonFailBlockConsumerTask<Input: Sendable> = BlockConsumerTask<Input, Never>
/// A closure as a consumer that cannot fail.
public typealias NonFailBlockConsumerProducerTask<Input: Sendable, Output: Sendable> =
  BlockConsumerProducerTask<Input, Output, Never>

/// An async closure as a task that produces no value.
public typealias AsyncBlockTask<Failure: Error> = AsyncBlockProducerTask<Void, Failure>
/// An async closure as a task that produces no value and cannot fail.
public typealias NonFailAsyncBlockTask = AsyncBlockTask<Never>
/// An async closure as a task that cannot fail.
public typealias NonFailAsyncBlockProducerTask<Output: Sendable> =
  AsyncBlockProducerTask<Output, Never>

/// An async closure as a consumer that produces no value.
public typealias AsyncBlockConsumerTask<Input: Sendable, Failure: Error> =
  AsyncBlockConsumerProducerTask<Input, Void, Failure>
/// An async closure as a consumer that produces no value and cannot fail.
public typealias NonFailAsyncBlockConsumerTask<Input: Sendable> =
  AsyncBlockConsumerTask<Input, Never>
/// An async closure as a consumer that cannot fail.
public typealias NonFailAsyncBlockConsumerProducerTask<Input: Sendable, Output: Sendable> =
  AsyncBlockConsumerProducerTask<Input, Output, Never>

/// A namespace for functions that make tasks: from several other tasks, or with a known
/// result.
///
/// Parameters `fileID` and `line` record the place in the source; leave them out.
public enum Tasks {}
/// A namespace for the conditions that come with the library.
public enum Conditions {}
/// A namespace for the observers that come with the library.
public enum Observers {}
