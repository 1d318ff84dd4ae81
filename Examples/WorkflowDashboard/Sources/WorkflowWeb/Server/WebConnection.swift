import Foundation
import NIOCore
import NIOHTTP1

/// Reads the requests of a connection, and writes the answers, one after the other.
///
///     waiting ─▶ reading ─▶ answering ─▶ waiting, or over after the last answer
///        │          │
///        └──────────┴─▶ over, after a refusal: what is no HTTP, or too large
///
/// Each state but `answering` has a limit in time. All of it happens on the event loop of the
/// connection, but for the work of the answer.
final class WebConnection: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private enum State {
    /// No request has begun.
    case waiting
    /// The head of a request has come, but not its end.
    case reading(HTTPRequestHead)
    /// A request has come as a whole.
    case answering(Task<Void, Never>, isLast: Bool)
    /// Nothing is read any more.
    case over
  }

  /// Something that has come while a request was answered.
  private enum Arrival {
    case part(HTTPServerRequestPart)
    case error(HTTPParserError)
  }

  /// How long the other end may take to notice that its request is refused.
  ///
  /// What it still sends is dropped meanwhile. If the connection was closed at once, the other
  /// end could not read the answer.
  private static let lingering = TimeAmount.seconds(5)

  private let idleLimit: TimeAmount
  private let answer: @Sendable (Request, _ port: Int) async -> Response
  private var state = State.waiting
  private var body = ByteBuffer()
  private var arrivals = CircularBuffer<Arrival>()
  private var readIsHeld = false
  private var limit: Scheduled<Void>?

  init(
    idleLimit: TimeAmount,
    answer: @escaping @Sendable (Request, _ port: Int) async -> Response
  ) {
    (self.idleLimit, self.answer) = (idleLimit, answer)
  }

  // MARK: Requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    arrivals.append(.part(Self.unwrapInboundIn(data)))
    takeArrivals(context)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let error as HTTPParserError:
      arrivals.append(.error(error))
      takeArrivals(context)
    // The rest of what was no HTTP.
    case is ByteToMessageDecoderError: break
    default: context.close(promise: nil)
    }
  }

  /// Only reads when what has come before is answered, so that little is kept.
  func read(context: ChannelHandlerContext) {
    if isAnswering { readIsHeld = true } else { context.read() }
  }

  private var isAnswering: Bool {
    if case .answering = state { true } else { false }
  }

  private func takeArrivals(_ context: ChannelHandlerContext) {
    while !isAnswering, let arrival = arrivals.popFirst() {
      switch (state, arrival) {
      case (.waiting, .part(.head(let head))):
        state = .reading(head)
        limitTime(to: idleLimit, context)
      case (.reading, .part(.body(let part))):
        body.writeImmutableBuffer(part)
        if body.readableBytes > Guard.largestBody {
          let message = "A request may have \(Guard.largestBody) bytes at most."
          refuse(RequestError(.payloadTooLarge, message), context)
        }
      case (.reading(let head), .part(.end)): begin(Request(head: head, body: body), context)
      case (.waiting, .error(let error)), (.reading, .error(let error)):
        refuse(
          error == .headerOverflow
            ? RequestError(.requestHeaderFieldsTooLarge, "The head of the request is too large.")
            : RequestError(.badRequest, "This is no request of HTTP."), context)
      // Nothing follows a refusal or the last answer.
      default: break
      }
    }
  }

  // MARK: Answers

  private func begin(_ request: Request, _ context: ChannelHandlerContext) {
    limit?.cancel()
    body.clear()
    let task = Self.answer(request, on: context.channel, with: answer)
    state = .answering(task, isLast: !request.head.isKeepAlive)
  }

  private static func answer(
    _ request: Request, on channel: any Channel,
    with answer: @escaping @Sendable (Request, _ port: Int) async -> Response
  ) -> Task<Void, Never> {
    Task {
      let response = await answer(request, channel.localAddress?.port ?? 0)
      do { try await write(response, to: request, on: channel) } catch {
        channel.close(promise: nil)
      }
    }
  }

  private static func write(
    _ response: Response, to request: Request, on channel: any Channel
  ) async throws {
    let isLast = !request.head.isKeepAlive
    let head = response.head(version: request.head.version, isLast: isLast)
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    switch response.body {
    case .data(let data):
      if request.method != .HEAD {
        channel.write(
          HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: data))), promise: nil)
      }
    case .events(var events):
      // Each is written when the page has taken those before.
      while let event = try await events.next() {
        try await channel.writeAndFlush(
          HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: event))))
      }
    }
    try await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
    if isLast { try await channel.close() }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    context.write(data, promise: promise)
    guard case .end = Self.unwrapOutboundIn(data), case .answering(_, let isLast) = state else {
      return
    }
    state = isLast ? .over : .waiting
    limitTime(to: idleLimit, context)
    takeArrivals(context)
    guard readIsHeld else { return }
    readIsHeld = false
    read(context: context)
  }

  private func refuse(_ error: RequestError, _ context: ChannelHandlerContext) {
    state = .over
    body.clear()
    limitTime(to: min(idleLimit, Self.lingering), context)
    let response = Response(error)
    let head = response.head(version: .http1_1, isLast: true)
    context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    if case .data(let data) = response.body {
      context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: data)))), promise: nil)
    }
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    context.close(mode: .output, promise: nil)
  }

  // MARK: The end

  func handlerAdded(context: ChannelHandlerContext) { limitTime(to: idleLimit, context) }

  /// A page that is stopped in the middle of an answer would keep its connection for ever.
  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard isAnswering else { return }
    if context.channel.isWritable { limit?.cancel() } else { limitTime(to: idleLimit, context) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is OpenConnections.NeedsRoom, !isAnswering { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    limit?.cancel()
    if case .answering(let task, _) = state { task.cancel() }
    state = .over
  }

  /// Closes the connection after a time, unless another limit is set or this one is cancelled.
  private func limitTime(to duration: TimeAmount, _ context: ChannelHandlerContext) {
    limit?.cancel()
    let (loop, channel) = (context.eventLoop, context.channel)
    limit = loop.assumeIsolated().scheduleTask(in: duration) { [self] in
      // If the machine is busy, the thread may be late itself. The event loop reads what has
      // come meanwhile before it closes the connection.
      limit = loop.scheduleTask(in: .milliseconds(1)) { channel.close(promise: nil) }
    }
  }
}
