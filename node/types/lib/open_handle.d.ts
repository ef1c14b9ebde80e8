/** @import { Abortable, Stats, Verification } from './types.js' */
/**
 * What an open `Index` and an open `Reader` have in common.
 * @template {string | Buffer} [K=string]
 * @extends {Readable<K>}
 */
export class OpenHandle<K extends string | Buffer = string> extends Readable<K> {
    /**
     * Checks everything: all checksums, and all tables against the signatures. Damage is no error; it
     * is told.
     * @param {Abortable} [options]
     * @returns {Promise<Verification>}
     */
    verify(options?: Abortable): Promise<Verification>;
    /** {@link verify} at once. @returns {Verification} */
    verifySync(): Verification;
    /**
     * Copies the index, as the handle sees it, to a new folder. Reads and writes go on meanwhile.
     * @param {string} path
     * @returns {Promise<void>}
     */
    backup(path: string): Promise<void>;
    /**
     * {@link backup} at once.
     * @param {string} path
     * @returns {void}
     */
    backupSync(path: string): void;
    /** The state of the index in numbers. @returns {Promise<Stats>} */
    stats(): Promise<Stats>;
    /** {@link stats} at once. @returns {Stats} */
    statsSync(): Stats;
    /**
     * Closes the handle. Calls that run are completed, or fail with `NEARKIN_CLOSED`; does nothing if
     * it is closed. Without it an index loses nothing, but takes longer to open.
     * @returns {Promise<void>}
     */
    close(): Promise<void>;
    /** {@link close} at once. @returns {void} */
    closeSync(): void;
}
import { Readable } from "./readable.js";
import type { Abortable } from './types.js';
import type { Verification } from './types.js';
import type { Stats } from './types.js';
