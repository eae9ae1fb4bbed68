# frozen_string_literal: true

# Runs every library through every scenario, against the plain server and the
# proxy, and prints a line for each. See ../README.md.

require 'json'
require_relative 'plain'
require_relative 'scenarios'
require_relative 'transaction'

$stdout.sync = true

def endpoint(which, faults)
  Endpoint.new(ENV.fetch("#{which}_HOST"), Integer(ENV.fetch("#{which}_PORT")), faults)
end

PLAIN = endpoint('PLAIN', false)
PROXY = endpoint('PROXY', true)

def compare(library, scenario)
  one, many = [PLAIN, PROXY].map { |at| perform(library, scenario, at) }
  same = one.seen == many.seen && one.faults.empty? && many.faults.empty?
  same ? ['pass', ''] : ['differs', "proxy: #{many}; plain: #{one}"]
rescue NotOffered => e
  ['unsupported', "library: #{e.message}"]
end

def perform(library, scenario, at)
  stage = Stage.new(library, at)
  begin
    Scenarios.public_send(scenario, stage)
  rescue NotOffered
    raise
  rescue StandardError => e
    stage.fault(describe(e))
  ensure
    stage.close
  end
  stage
end

[PlainScripts.new, Transactions.new].each do |library|
  Scenarios::ALL.each do |scenario|
    result, detail = compare(library, scenario)
    puts JSON.generate(
      language: 'ruby', library: library.name, version: library.version,
      scenario: scenario.to_s.tr('_', '-'), result: result, detail: detail
    )
  end
end
