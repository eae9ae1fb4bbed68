# frozen_string_literal: true

require 'net/http'
require 'redis'
require 'securerandom'

# One of the two servers; faults can be asked for with the proxy only.
Endpoint = Struct.new(:host, :port, :faults)

# What the library said, and whether that means yes.
Answer = Struct.new(:yes, :said) do
  def self.of(value)
    new(value ? true : false, value.inspect)
  end
end

# The library has no such operation.
class NotOffered < StandardError; end

def describe(error)
  "#{error.class}: #{error.message}"
end

# One run of a scenario against one server: its lock name, its callers, and what
# they saw in words that are the same in every run.
class Stage
  LONG = 10.0
  SHORT = 0.3

  # The first TTL of a lock that is extended: a slow machine must do that within it.
  EXTENDED = 1.5

  # A server looks at its clock once per turn of its loop.
  CLOCK_STEP = 0.01

  attr_reader :library, :at, :name, :seen, :faults

  def initialize(library, at)
    @library = library
    @at = at
    @name = "lock:#{SecureRandom.uuid}"
    @seen = []
    @faults = []
    @clients = {}
  end

  def lock(who, ttl = LONG)
    client(who).lock(name, ttl)
  end

  # A lock that is meant to lapse.
  def short_lock(who)
    lock(who, SHORT)
  end

  # A client of its own for each caller, as in other processes.
  def client(who)
    @clients[who] ||= library.connect(at)
  end

  # Waits until a TTL is over, on every clock.
  def lapse(ttl = SHORT)
    sleep(ttl + 0.2)
  end

  # Calls, and notes the answer, or the exception in its place.
  def note(who)
    answer = yield
    add(who, answer.said)
    answer.yes
  rescue NotOffered
    raise
  rescue StandardError => e
    add(who, describe(e))
    false
  end

  # Like note, and it is a fault if the answer is not what the scenario asks for.
  def expect(want, who, &call)
    fault("#{who} wanted #{want ? 'yes' : 'no'}") unless note(who, &call) == want
  end

  def extend_if_offered(who, lock)
    expect(true, who) { lock.extend(LONG) }
  rescue NotOffered
    # then only the release shows whether the lock is still its owner's
  end

  def add(who, what)
    @seen << "#{who} #{what.gsub(name, 'LOCK')}"
  end

  def fault(what)
    @faults << what.gsub(name, 'LOCK')
  end

  # Asks the runner for a fault of the proxy.
  def control(path)
    reply = Net::HTTP.post(URI.join(ENV.fetch('CONTROL_URL'), path), '')
    raise "POST #{path}: #{reply.code} #{reply.body}" unless reply.code == '200'
  end

  # Lets every driver notice that its connection is gone.
  def reconnect
    @clients.each_value do |client|
      tries = 0
      begin
        client.ping
      rescue Redis::BaseConnectionError
        raise if (tries += 1) > 200

        sleep 0.05
        retry
      end
    end
  end

  def close
    @clients.each_value(&:close)
  end

  def to_s
    faults.empty? ? seen.inspect : "#{seen.inspect}, at fault: #{faults.inspect}"
  end
end
