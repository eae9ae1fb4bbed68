# frozen_string_literal: true

require_relative 'plain'

# redis-rb without scripts: WATCH, GET, MULTI, EXEC.
class Transactions
  def name
    'redis-rb, WATCH and MULTI'
  end

  def version
    Redis::VERSION
  end

  def connect(at)
    Client.new(at, TransactionLock)
  end
end

# Releases and extends by a transaction on the value that was seen.
class TransactionLock < PlainLock
  def release
    if_mine { |transaction| transaction.del(@key) }
  end

  def extend(ttl)
    if_mine { |transaction| transaction.pexpire(@key, milliseconds(ttl)) }
  end

  private

  def if_mine(&change)
    reply = @redis.watch(@key) do
      if @redis.get(@key) == @token
        @redis.multi(&change)
      else
        @redis.unwatch
      end
    end
    Answer.new(reply.is_a?(Array), reply.inspect)
  end
end
