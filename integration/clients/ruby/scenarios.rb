# frozen_string_literal: true

require_relative 'contention'
require_relative 'stage'

# The scenarios, as ../README.md describes them.
module Scenarios
  ALL = %i[
    acquire_free acquire_held release_own release_other release_after_lapse extend_own
    extend_after_lapse query_owned lapse_hands_over contention master_killed proxy_restarted
  ].freeze

  module_function

  def acquire_free(s)
    s.expect(true, 'A acquires:') { s.lock('A').acquire }
    s.expect(true, 'a TTL is set:') { Answer.of(s.client('raw').redis.pttl(s.name).positive?) }
  end

  def acquire_held(s)
    s.expect(true, 'A acquires:') { s.lock('A').acquire }
    s.expect(false, 'B acquires:') { s.lock('B').acquire }
  end

  def release_own(s)
    a = s.lock('A')
    s.expect(true, 'A acquires:') { a.acquire }
    s.expect(true, 'A releases:') { a.release }
    s.expect(true, 'B acquires:') { s.lock('B').acquire }
  end

  def release_other(s)
    s.expect(true, 'A acquires:') { s.lock('A').acquire }
    s.expect(false, 'B releases:') { s.lock('B').release }
    s.expect(false, 'C acquires:') { s.lock('C').acquire }
  end

  def release_after_lapse(s)
    a = s.short_lock('A')
    s.expect(true, 'A acquires:') { a.acquire }
    s.lapse
    s.note('A releases:') { a.release }
    s.expect(true, 'B acquires:') { s.lock('B').acquire }
  end

  def extend_own(s)
    a = s.lock('A', Stage::EXTENDED)
    s.expect(true, 'A acquires:') { a.acquire }
    s.expect(true, 'A extends:') { a.extend(Stage::LONG) }
    s.lapse(Stage::EXTENDED)
    s.expect(false, 'B acquires:') { s.lock('B').acquire }
  end

  def extend_after_lapse(s)
    a = s.short_lock('A')
    s.expect(true, 'A acquires:') { a.acquire }
    s.lapse
    s.note('A extends:') { a.extend(Stage::LONG) }
    s.note('B acquires:') { s.lock('B').acquire }
  end

  def query_owned(s)
    a = s.lock('A')
    s.add('before:', a.query)
    s.expect(true, 'A acquires:') { a.acquire }
    s.add("A's view:", a.query)
    s.add("B's view:", s.lock('B').query)
    s.expect(true, 'A releases:') { a.release }
    s.add('after:', a.query)
  end

  def lapse_hands_over(s)
    a = s.short_lock('A')
    b = s.lock('B')
    start = now
    s.expect(true, 'A acquires:') { a.acquire }
    s.expect(true, 'B acquires in the end:') { Contention.wait_for(b, 5) }
    waited = now - start
    s.expect(true, 'not too early:') { Answer.of(waited > Stage::SHORT - Stage::CLOCK_STEP) }
    s.expect(true, 'within two seconds:') { Answer.of(waited < Stage::SHORT + 2) }
  end

  def contention(s)
    Contention.new(s, 8, 50).run
  end

  def master_killed(s)
    rounds = Contention.new(s, 8, 25)
    return rounds.run unless s.at.faults

    begin
      rounds.run { s.control('/kill-master') }
    ensure
      s.control('/heal')
    end
  end

  def proxy_restarted(s)
    a = s.lock('A')
    b = s.lock('B')
    s.expect(true, 'A acquires:') { a.acquire }
    s.expect(false, 'B acquires:') { b.acquire }
    s.extend_if_offered('A extends:', a)
    s.control('/restart-proxy') if s.at.faults
    s.reconnect
    s.extend_if_offered('A extends again:', a)
    s.expect(false, 'B acquires again:') { b.acquire }
    s.expect(true, 'A releases:') { a.release }
    s.expect(true, 'B acquires the free lock:') { b.acquire }
    s.expect(true, 'B releases:') { b.release }
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
