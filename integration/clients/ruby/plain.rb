# frozen_string_literal: true

require 'digest'
require 'redis'
require 'securerandom'
require_relative 'stage'

# A connection of its own for a caller.
class Client
  attr_reader :redis

  # lock_class is made with the connection, a name and a TTL in seconds.
  def initialize(at, lock_class)
    @redis = Redis.new(host: at.host, port: at.port)
    @lock_class = lock_class
  end

  def lock(name, ttl)
    @lock_class.new(redis, name, ttl)
  end

  def ping
    redis.ping
  end

  def close
    redis.close
  end
end

# redis-rb: SET PX NX, and scripts by EVALSHA with EVAL behind it.
class PlainScripts
  def name
    'redis-rb, plain scripts'
  end

  def version
    Redis::VERSION
  end

  def connect(at)
    Client.new(at, PlainLock)
  end
end

# A lock object with a token of its own.
class PlainLock
  RELEASE = <<~LUA
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      return redis.call('DEL', KEYS[1])
    end
    return 0
  LUA

  EXTEND = <<~LUA
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      return redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return 0
  LUA

  def initialize(redis, key, ttl)
    @redis = redis
    @key = key
    @ttl = ttl
    @token = SecureRandom.uuid
  end

  def acquire
    Answer.of(@redis.set(@key, @token, nx: true, px: milliseconds(@ttl)))
  end

  def release
    one(run(RELEASE, [@token]))
  end

  def extend(ttl)
    one(run(EXTEND, [@token, milliseconds(ttl)]))
  end

  def query
    left = (@redis.pttl(@key) / 1000.0).round
    "mine #{@redis.get(@key) == @token}, exists #{@redis.exists?(@key)}, seconds left #{left}"
  end

  private

  def run(script, argv)
    @redis.evalsha(Digest::SHA1.hexdigest(script), [@key], argv)
  rescue Redis::CommandError => e
    raise unless e.message.start_with?('NOSCRIPT')

    @redis.eval(script, [@key], argv)
  end

  def one(reply)
    Answer.new(reply == 1, reply.inspect)
  end

  def milliseconds(seconds)
    (seconds * 1000).to_i
  end
end
