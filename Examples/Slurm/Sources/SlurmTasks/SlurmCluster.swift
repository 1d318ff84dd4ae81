import Foundation
import Properations
import Synchronization

/// A Slurm cluster that runs commands.
///
/// ```swift
/// let cluster = SlurmCluster(run: "nightly", folder: shared, limits: ["gpu": 8])
/// let count = cluster.run(.script("wc -l < samples.txt"), as: "count")
/// print(try await count.value.output)
/// ```
///
/// Each job has a name made of the run and of an identifier. So a program that was killed
/// finds its jobs again: the first time that it runs an identifier, it takes the job that
/// waits, runs, or has ended in the meantime, and submits one only if there is none.
///
/// While jobs are under way, one query in each interval asks for the states of all of them.
/// If the cluster's controller does not answer, the next query does.
public final class SlurmCluster: Sendable {
  /// One call of `run`, from the beginning to its end.
  ///
  ///   submitting ── submitted ──▶ under way ── ended ──▶ concluded
  ///       └── cancelled: the job is cancelled when its number is known ──▲
  private struct Run {
    let promise: Promise<SlurmResult>
    let files: JobFiles
    /// Succeeds when the run is concluded.
    let conclusion: Promise<Void>
    /// The job; `nil` while it is being submitted.
    var jobID: Int?
    /// How many queries found the job ended, or gone, without a note of its end.
    var silence = 0
  }

  private struct State {
    var runs: [Int: Run] = [:]
    var lastRun = 0
    var isWatching = false
    /// The identifiers that this object has run.
    var known: Set<String> = []

    mutating func conclude(_ number: Int) -> Run? { runs.removeValue(forKey: number) }
  }

  /// How many queries a note of an end may be late: shared folders take their time.
  private static let mostSilence = 20

  private let state = Mutex(State())
  private let programs = SlurmPrograms()
  private let runName: String
  private let folder: URL
  private let interval: Duration
  private let limits: [String: Permits]
  private let cancellations: Batcher<Int, Void>
  /// Reads and writes the files of jobs.
  private let files: OperationQueue
  /// The jobs of earlier programs, asked for once.
  private let earlier: SingleFlight<String, [String: JobState]>

  /// Makes a cluster.
  ///
  /// - Parameters:
  ///   - run: A name for the run, the same in a program that goes on with the run, and
  ///     different from those of other runs.
  ///   - folder: A folder that all nodes share. Scripts, outputs and notes of ends are there.
  ///   - limits: How many jobs may be under way in a partition at a time. A partition
  ///     without a limit takes all jobs at once.
  ///   - interval: The time between two queries.
  public init(
    run: String, folder: URL, limits: [String: Int] = [:], interval: Duration = .seconds(1)
  ) {
    runName = run
    self.folder = folder
    self.interval = max(interval, .milliseconds(10))
    self.limits = limits.mapValues { Permits($0) }
    files = OperationQueue()
    files.name = "Slurm files"
    files.maxConcurrentOperationCount = 4
    earlier = SingleFlight(timeToLive: .seconds(1 << 40))
    // One call cancels all jobs of a run.
    cancellations = Batcher(maxSize: 500, maxDelay: .milliseconds(20), on: .inline) {
      [programs] ids in
      programs.cancel(ids).recover(on: .inline) { _ in }
        .mapToValue(on: .inline) { ids.map { _ in } }
    }
  }

  /// Runs a command.
  ///
  /// Cancelling the future cancels the job. The job of an earlier program is taken over only
  /// the first time that this object runs the identifier; later calls submit a new job.
  ///
  /// - Parameters:
  ///   - job: The command. For a job that is taken over, only the identifier counts.
  ///   - identifier: The name of the work in this run. Two jobs under way need different
  ///     identifiers.
  /// - Returns: A future of what the command leaves; it fails with a ``SlurmError``.
  public func run(_ job: SlurmJob, as identifier: String) -> Future<SlurmResult> {
    guard let partition = job.partition, let permits = limits[partition] else {
      return begin(job, identifier)
    }
    return permits.withPermit(on: .inline) { [self] in begin(job, identifier) }
  }

  /// Waits until no job of this object is under way, and the jobs of cancelled futures are
  /// cancelled.
  ///
  /// Call it before the program ends, so that a cancelled run leaves no job behind. The future
  /// succeeds, whatever the ends of the jobs.
  public func settle() -> Future<Void> {
    let conclusions = state.withLock { $0.runs.values.map { $0.conclusion.shielded() } }
    return Promises.collectResults(conclusions).mapToFuture(on: .inline) { [cancellations] _ in
      cancellations.flush()
    }
  }

  // MARK: Beginning

  private func begin(_ job: SlurmJob, _ identifier: String) -> Future<SlurmResult> {
    let name = "\(runName.asJobName).\(identifier.asJobName)"
    let files = JobFiles(of: name, in: folder)
    let promise = Promises.make(promising: SlurmResult.self)
    let (number, isNew) = state.withLock { state in
      state.lastRun += 1
      state.runs[state.lastRun] = Run(
        promise: promise, files: files, conclusion: Promises.make(promising: Void.self))
      return (state.lastRun, state.known.insert(identifier).inserted)
    }
    promise.onCancel(on: .inline) { [self] in wasCancelled(number) }
    let found: Future<JobState?> =
      isNew
      ? jobsOfEarlierPrograms().mapToValue(on: .inline) { $0[name] }
      : Promises.makeSucceeded(with: nil)
    // A submission that has begun goes on although its future is cancelled: only its end
    // tells the number of the job to cancel.
    found.mapToFuture(on: self.files) { [self] found -> Future<Int?> in
      if let found, found.isActive { return Promises.makeSucceeded(with: found.jobID) }
      if promise.isFulfilled { return Promises.makeSucceeded(with: nil) }
      if isNew, let note = files.noteOfEnd() {
        end(number, status: note.code << 8, jobID: note.jobID, node: note.node)
        return Promises.makeSucceeded(with: nil)
      }
      return submit(job, name, files).mapToValue(on: .inline) { $0 }
    }.onCompletion(on: .inline) { [self] result in
      switch result {
      case .success(let id): wasSubmitted(number, id)
      case .failure(let error): conclude(number, .failure(error))
      }
    }
    return promise
  }

  private func jobsOfEarlierPrograms() -> Future<[String: JobState]> {
    earlier.load(runName, on: .inline) { [programs] in
      programs.states(of: nil).mapToValue(on: .inline) { states in
        // A later job of the same name takes the place of an earlier one.
        Dictionary(states.sorted { $0.jobID < $1.jobID }.map { ($0.name, $0) }) { $1 }
      }
    }
  }

  private func submit(_ job: SlurmJob, _ name: String, _ files: JobFiles) -> Future<Int> {
    do {
      try files.prepare(job)
    } catch {
      return Promises.makeFailed(with: error)
    }
    let folder = job.workingFolder?.path ?? FileManager.default.currentDirectoryPath
    let options =
      [
        "--job-name=\(name)", "--output=\(files.output.path.asPattern)",
        "--error=\(files.errors.path.asPattern)",
        "--chdir=\(folder)",
      ] + job.sbatchOptions
    return programs.submit(files.script, options: options)
  }

  // MARK: Following

  /// - Parameter id: The job; `nil` if there is none.
  private func wasSubmitted(_ number: Int, _ id: Int?) {
    let (cancelled, isFirst) = state.withLock { state -> (Run?, Bool) in
      guard let run = state.runs[number] else { return (nil, false) }
      // `wasCancelled` has left the run to this call, if it came before.
      if id == nil || run.promise.isFulfilled { return (state.conclude(number), false) }
      state.runs[number]?.jobID = id
      defer { state.isWatching = true }
      return (nil, !state.isWatching)
    }
    if isFirst { Task { await watchAll() } }
    if let cancelled { conclude(cancelled, cancelling: id) }
  }

  private func wasCancelled(_ number: Int) {
    let run = state.withLock { state in
      state.runs[number]?.jobID == nil ? nil : state.conclude(number)
    }
    if let run { conclude(run, cancelling: run.jobID) }
  }

  private func conclude(_ run: Run, cancelling id: Int?) {
    if let id { _ = cancellations.add(id) }
    run.conclusion.succeed()
  }

  /// Ends a run that nothing else has ended.
  private func conclude(_ number: Int, _ result: FutureResult<SlurmResult>) {
    guard let run = state.withLock({ $0.conclude(number) }) else { return }
    run.promise.fulfill(with: result)
    run.conclusion.succeed()
  }

  private func watchAll() async {
    while true {
      let jobs = state.withLock { state in
        let jobs = state.runs.compactMap { number, run in run.jobID.map { (number, $0) } }
        state.isWatching = !jobs.isEmpty
        return jobs.sorted { $0.1 < $1.1 }
      }
      if jobs.isEmpty { return }
      if let found = try? await programs.states(of: jobs.map(\.1)).value {
        let states = Dictionary(found.map { ($0.jobID, $0) }) { $1 }
        for (number, id) in jobs where states[id]?.isActive != true {
          Promises.run(on: files) { [self] in judge(number, id, states[id]) }.ignoreFailure()
        }
      }
      try? await Task.sleep(for: interval)
    }
  }

  /// Ends the run of a job that is not active any more.
  private func judge(_ number: Int, _ id: Int, _ found: JobState?) {
    guard let found else { return readEnd(number, id, nil) }
    let error: SlurmError
    switch found.phase {
    case .active: return
    case .ended: return readEnd(number, id, found)
    case .cancelled: error = .cancelled(jobID: id)
    case .nodeFailed: error = .nodeFailed(node: found.node, reason: found.reason)
    case .timedOut: error = .timedOut(jobID: id)
    case .outOfMemory: error = .outOfMemory(jobID: id)
    }
    conclude(number, .failure(error))
  }

  /// Ends the run of a job that has ended by itself, or that Slurm has forgotten.
  private func readEnd(_ number: Int, _ id: Int, _ found: JobState?) {
    guard let run = state.withLock({ $0.runs[number] }) else { return }
    if let note = run.files.noteOfEnd(), note.jobID == id {
      return end(number, status: note.code << 8, jobID: id, node: note.node)
    }
    let isSilent = state.withLock { state in
      state.runs[number]?.silence += 1
      return run.silence + 1 >= Self.mostSilence
    }
    guard isSilent else { return }
    if let found { return end(number, status: found.status, jobID: id, node: found.node) }
    conclude(number, .failure(SlurmError.vanished(jobID: id)))
  }

  /// Ends a run as the command has ended.
  ///
  /// - Parameter status: The status as `waitpid` reports it.
  private func end(_ number: Int, status: Int32, jobID: Int, node: String) {
    guard let files = state.withLock({ $0.runs[number]?.files }) else { return }
    let result = files.result(jobID: jobID, node: node)
    if status == 0 { return conclude(number, .success(result)) }
    // The next program runs the command again instead of finding this failure.
    files.forgetEnd()
    let (code, signal) = ((status >> 8) & 0xFF, status & 0x7F)
    // A shell reports a command that was ended by signal N with the code 128 + N.
    let deadlySignal = signal != 0 ? signal : code - 128
    conclude(
      number,
      .failure(
        deadlySignal > 0
          ? SlurmError.killed(signal: deadlySignal, result)
          : SlurmError.exited(code: code, result)))
  }
}
