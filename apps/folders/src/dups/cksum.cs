using System.IO;
public static class Cksum {
    // Checksum and length of a file, as the POSIX program `cksum` prints them.
    public static string Of(string path) {
        uint sum = 0;
        ulong length = 0;
        using (var file = File.Open(path, FileMode.Open, FileAccess.Read, FileShare.Read)) {
            var block = new byte[1 << 16];
            int count;
            while ((count = file.Read(block, 0, block.Length)) > 0) {
                length += (ulong)count;
                for (int at = 0; at < count; at++) sum = Step(sum, block[at]);
            }
        }
        for (ulong rest = length; rest > 0; rest >>= 8) sum = Step(sum, (byte)rest);
        return (~sum).ToString() + " " + length.ToString();
    }
    private static uint Step(uint sum, byte next) {
        sum ^= (uint)next << 24;
        for (int bit = 0; bit < 8; bit++) sum = (sum & 0x80000000) != 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
        return sum;
    }
}
