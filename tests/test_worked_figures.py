"""Figures worked out by hand in the texts that this package was written for; each to the digits quoted there."""

import unittest
from math import log

import refcalc
from refcalc import ExactSum, SmoothedUnigram, Tally, UniformBaseline


class Reduction(unittest.TestCase):
    def test_two_documents_of_different_length(self) -> None:
        first, second = Tally(6.0, 2, n_bytes=3), Tally(9.0, 4, n_bytes=7)
        total = first + second
        self.assertEqual(total.mean_nll, 2.5)
        self.assertAlmostEqual(total.perplexity, 12.182494, places=6)
        self.assertAlmostEqual(total.bits_per_byte, 2.164043, places=6)
        self.assertEqual((first.mean_nll + second.mean_nll) / 2, 2.625)  # the wrong one: the mean of document means
        self.assertAlmostEqual(refcalc.perplexity_to_nll(total.perplexity), 2.5, places=14)
        self.assertAlmostEqual(refcalc.bits_to_nats(total.bits_per_byte) * total.n_bytes, 15.0, places=13)

    def test_a_frozen_test_set(self) -> None:
        tally = Tally(401.284752, 119, n_bytes=4 * 63, n_documents=4)
        self.assertAlmostEqual(tally.mean_nll, 3.372141, places=6)
        self.assertAlmostEqual(tally.perplexity, 29.140844, places=6)
        self.assertAlmostEqual(tally.bits_per_byte, 2.297347, places=6)
        self.assertAlmostEqual(refcalc.uniform_nll(290), 5.669881, places=6)

    def test_two_batches_of_different_size(self) -> None:
        total = Tally(0.1, 1) + Tally(18.0, 9)
        self.assertAlmostEqual(total.mean_nll, 1.81, places=15)
        self.assertAlmostEqual(total.perplexity, 6.110447, places=6)
        wrong = (Tally(0.1, 1).mean_nll + Tally(18.0, 9).mean_nll) / 2
        self.assertAlmostEqual(wrong, 1.05, places=15)
        self.assertAlmostEqual(refcalc.perplexity(wrong), 2.857651, places=6)

    def test_the_observed_mean_of_three_documents(self) -> None:
        total = Tally(2.0, 2) + Tally(18.0, 9) + Tally(8.0, 4)
        self.assertEqual(total.mean_nll, 28 / 15)


class Units(unittest.TestCase):
    def test_a_perplexity_depends_on_what_a_token_is(self) -> None:
        quarter = [0.0, 0.0, 0.0, 0.0]
        two = Tally.of([refcalc.token_nll(quarter, 0)] * 2)
        self.assertEqual(two.mean_nll, log(4))
        self.assertAlmostEqual(two.perplexity, 4.0, places=14)
        self.assertAlmostEqual(Tally(two.nll_sum, 1).perplexity, 16.0, places=13)  # the same text as one token

    def test_characters_and_word_pieces_compare_per_character_only(self) -> None:
        by_character = refcalc.bits_per_char(1.77, 1)
        by_piece = refcalc.bits_per_char(3.34 * 1000, 2033)
        self.assertAlmostEqual(by_character, 2.5536, places=4)
        self.assertAlmostEqual(by_piece, 2.37, places=2)
        self.assertLess(1.77, 3.34)
        self.assertGreater(by_character, by_piece)  # the raw losses order the two the wrong way round

    def test_three_seeds_in_bits_per_character(self) -> None:
        losses = [1.6757, 1.6792, 1.6856]
        self.assertEqual([round(refcalc.bits_per_char(x, 1), 3) for x in losses], [2.418, 2.423, 2.432])
        mean = ExactSum(losses) / 3
        self.assertEqual(round(mean, 4), 1.6802)
        self.assertEqual(round(refcalc.nats_to_bits(mean), 3), 2.424)
        self.assertEqual(round(refcalc.uniform_nll(65), 3), 4.174)
        self.assertAlmostEqual(1 - mean / refcalc.uniform_nll(65), 0.60, places=2)

    def test_the_uniform_guess_over_65_characters(self) -> None:
        self.assertAlmostEqual(refcalc.nats_to_bits(UniformBaseline(range(65)).nll(0)), 6.022, places=3)

    def test_two_to_the_bits_is_e_to_the_nats(self) -> None:
        rows = [[0.3, -1.2, 2.0], [1.0, 0.0, -1.0]]
        nats = refcalc.cross_entropy(rows, [2, 1])
        self.assertAlmostEqual(2.0 ** refcalc.bits_per_token(nats), refcalc.perplexity(nats), places=13)


class Scores(unittest.TestCase):
    def test_equal_logits_cost_log_two_at_any_height(self) -> None:
        for logits in ([0, 0], [1000, 1000]):
            self.assertEqual(refcalc.token_nll(logits, 1), log(2))

    def test_log_softmax_does_not_underflow_where_softmax_does(self) -> None:
        self.assertEqual(refcalc.softmax([0.0, -800.0])[1], 0.0)
        self.assertEqual(refcalc.log_softmax([0.0, -800.0])[1], -800.0)

    def test_uniform_logits_have_the_perplexity_v(self) -> None:
        for classes in (2, 65, 290):
            nll = refcalc.cross_entropy([[0.5] * classes] * 3, [0, 1, classes - 1])
            self.assertAlmostEqual(refcalc.perplexity(nll) / classes, 1.0, places=14)

    def test_four_plausible_numbers_of_which_one_is_right(self) -> None:
        rows = [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [4.0, 0.0, 0.0]]
        tokens, mask = [1, 0, 1, 0], [1, 1, 1, 0]
        right = refcalc.causal_lm_loss(rows, tokens, attention_mask=mask)
        by_hand = (refcalc.token_nll(rows[0], 0) + refcalc.token_nll(rows[1], 1)) / 2
        self.assertAlmostEqual(right, by_hand, places=15)
        unshifted = refcalc.cross_entropy(rows, refcalc.mask_padding(tokens, mask))
        unmasked = refcalc.causal_lm_loss(rows, tokens)
        neither = refcalc.cross_entropy(rows, tokens)
        self.assertEqual(len({right, unshifted, unmasked, neither}), 4)


class Unigram(unittest.TestCase):
    def test_a_toy_unigram(self) -> None:
        training, support = ["a", "a", "b", "EOS"], ["a", "b", "c", "EOS"]
        model = SmoothedUnigram.fit(training, support)
        self.assertEqual([model.probability(t) for t in support], [3 / 8, 2 / 8, 1 / 8, 2 / 8])
        tally = model.score(["c", "EOS"])
        self.assertAlmostEqual(float(tally.nll_sum), log(32), places=15)
        self.assertAlmostEqual(tally.mean_nll, 1.732868, places=6)
        self.assertEqual(SmoothedUnigram.fit(training, support, alpha=0).score(["c", "EOS"]).mean_nll, float("inf"))

    def test_a_bos_in_the_support_is_never_a_target(self) -> None:
        model = SmoothedUnigram.fit(["a", "a", "b", "EOS"], ["BOS", "a", "b", "EOS"])
        self.assertEqual(model.probability("BOS"), 1 / 8)
        self.assertEqual(model.score(["a", "EOS"]).n_targets, 2)
        self.assertEqual(model.score(["b", "EOS"]).n_documents, 1)


class Alignment(unittest.TestCase):
    def test_windows_share_one_token_and_no_target(self) -> None:
        pieces = list(refcalc.windows([10, 11, 12, 13, 14, 15, 16], 3))
        self.assertEqual([targets for _, _, targets in pieces], [[11, 12, 13], [14, 15, 16]])
        self.assertEqual(pieces[0][2][-1], pieces[1][1][0])

    def test_the_label_minus_100_is_not_scored_and_an_unk_of_id_0_is(self) -> None:
        rows = [[0.0, 0.0]] * 3
        self.assertEqual(refcalc.cross_entropy(rows, [-100, 0, 1], reduction="none"), [0.0, log(2), log(2)])
