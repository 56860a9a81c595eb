"""Speech recognition: Whisper (encoder, then a few tokens of the decoder) and wav2vec 2.0."""

from models import loops
from models.registry import Entry

MEL_BINS, MEL_FRAMES = 80, 3000
WHISPER_START, WHISPER_TOKENS = 50_257, 16
WAV2VEC_SAMPLES = 160_487

_WHISPER_SIZES = {
    "whisper-small": {"d_model": 768, "layers": 12, "heads": 12, "ffn": 3072},
    "whisper-large-v2": {"d_model": 1280, "layers": 32, "heads": 20, "ffn": 5120},
}


def _whisper_model(size):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    return WhisperForConditionalGeneration(WhisperConfig(
        num_mel_bins=MEL_BINS, d_model=size["d_model"],
        encoder_layers=size["layers"], decoder_layers=size["layers"],
        encoder_attention_heads=size["heads"], decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["ffn"], decoder_ffn_dim=size["ffn"]))


def _whisper(spec):
    import torch
    with loops.on_gpu():
        model = _whisper_model(_WHISPER_SIZES[spec.model])
    sound = torch.randn(spec.batch, MEL_BINS, MEL_FRAMES, device="cuda",
                        dtype=loops.inference_dtype(spec))
    start = torch.full((spec.batch, 1), WHISPER_START, device="cuda")

    def answer(served):
        heard = served.model.encoder(sound)
        tokens, cache = start, None
        for _ in range(WHISPER_TOKENS):
            output = served(encoder_outputs=heard, decoder_input_ids=tokens, past_key_values=cache,
                            use_cache=True)
            tokens, cache = output.logits[:, -1:].argmax(-1), output.past_key_values

    return loops.inference(spec, model, answer)


def _wav2vec2(spec):
    import torch
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC
    with loops.on_gpu():
        model = Wav2Vec2ForCTC(Wav2Vec2Config())
    sound = torch.randn(spec.batch, WAV2VEC_SAMPLES, device="cuda",
                        dtype=loops.inference_dtype(spec))
    return loops.inference(spec, model, lambda served: served(input_values=sound))


_HEAR = f"{MEL_BINS} x {MEL_FRAMES} features in, {WHISPER_TOKENS} tokens out"

ENTRIES = (
    Entry("whisper-small", "infer", 8, _HEAR, "KACE", _whisper),
    Entry("whisper-large-v2", "infer", 8, _HEAR, "KACE", _whisper),
    Entry("wav2vec2-base", "infer", 8, "10 s of sound, CTC head", "KACE", _wav2vec2),
)
