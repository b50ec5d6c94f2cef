package jmh;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/** The records of a file, in their order, round and round. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Records {
    /** A contender's main class, and its own arguments: given when JMH is started. */
    @Param("")
    public String contender;

    /** The file, given likewise. */
    @Param("")
    public String records;

    private Subject subject;
    private int count;
    private int place;

    @Setup
    public void start() throws Exception {
        // By its name, since contenders have no package.
        Class<?> codecs = Class.forName("Codecs");
        subject = (Subject) codecs.getConstructor(String.class, String.class).newInstance(contender, records);
        count = subject.records();
    }

    @Benchmark
    public void encode(Blackhole sink) throws Exception {
        subject.encode(next(), sink);
    }

    @Benchmark
    public void decode(Blackhole sink) throws Exception {
        subject.decode(next(), sink);
    }

    /** Without a division, which would be a part of what is measured. */
    private int next() {
        int next = place + 1;
        place = next < count ? next : 0;
        return place;
    }
}
