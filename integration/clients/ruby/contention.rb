# frozen_string_literal: true

require_relative 'stage'

# Callers, with a client each, take turns at one lock.
class Contention
  # Tries again and again: these libraries wait for nothing but time.
  def self.wait_for(lock, at_most)
    give_up = Process.clock_gettime(Process::CLOCK_MONOTONIC) + at_most
    loop do
      answer = lock.acquire
      return answer if answer.yes || Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up

      sleep(rand(0.005..0.02))
    end
  end

  def initialize(stage, callers, rounds)
    @stage = stage
    @callers = callers
    @rounds = rounds
    @mutex = Mutex.new
    @inside = @overlaps = @done = 0
    @failures = []
  end

  # Runs all rounds; the block is called once, by the caller that ends a third of them.
  def run(&event)
    @event = event
    clients = Array.new(@callers) { |i| @stage.client("caller #{i}") }
    clients.map { |client| Thread.new { turns(client) } }.each(&:join)
    @stage.add('rounds done:', @done.to_s)
    @stage.add('overlaps:', @overlaps.to_s)
    sound = @done == @callers * @rounds && @overlaps.zero? && @failures.empty?
    @stage.fault("failed: #{@failures.uniq.inspect}") unless sound
  end

  private

  def turns(client)
    @rounds.times do
      turn(client.lock(@stage.name, Stage::LONG))
      event = @mutex.synchronize { @event.tap { @event = nil } if @done >= @callers * @rounds / 3 }
      event&.call
    rescue StandardError => e
      failed(describe(e))
    end
  end

  def turn(lock)
    got = Contention.wait_for(lock, 30)
    return failed("acquire: #{got.said}") unless got.yes

    @mutex.synchronize { @overlaps += 1 if (@inside += 1) > 1 }
    sleep(0.001) # long enough for another caller to come in, if it may
    @mutex.synchronize { @inside -= 1 }
    left = lock.release
    return failed("release: #{left.said}") unless left.yes

    @mutex.synchronize { @done += 1 }
  end

  def failed(what)
    @mutex.synchronize { @failures << what }
  end
end
