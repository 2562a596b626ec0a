from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.errors import UnknownNameError
from ragjudge.text.claims import claims, is_refusal
from ragjudge.text.sentences import sentences


def reasons(text: str) -> list[str]:
    return [claim.reason for claim in claims(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Paris",
        "42",
        "42.",
        "3.",
        "About 300 km",
        "Sorry, the museum is closed on Mondays.",
        "Sorry, it was Napoleon.",
        "Hello, the museum is open.",
        "No, it is closed.",
        "Yes, on Mondays.",
        "Thanks to the canal, the town grew rich.",
        "If you have questions, call 555-1234.",
        "Feel free to visit the museum between 9 and 5.",
        "You can ask for a refund within 30 days.",
        'He asked "Why?"',
        "Based on the context, the tower is 330 m tall.",
        "According to the documents, Paris is the capital.",
        "The EU was founded in 1951 by these six countries:",
        "Note: the museum is closed.",
        "There is no evidence that vaccines cause autism.",
        "There is no charge for children.",
        "The contract does not include delivery costs.",
        "The museum does not provide tickets.",
        "It is not known whether he wrote it.",
        "The patient cannot walk.",
        "They do not know each other.",
        "We cannot provide refunds after 30 days.",
        "We do not share your data.",
        "We don't have sufficient parking.",
        "We will take a tour on Monday.",
        "Yes, the EU was founded in 1951 by these countries:",
        "Thank you for waiting, the museum is open.",
        "I don't know the exact year, but it was founded under Napoleon.",
        "I don't know; the museum closed in 1990.",
        "The battle was not described in the treaty.",
        "Information theory was founded by Shannon.",
        "Sources of the Nile lie in Burundi.",
        "See also gives 5 hits.",
        "[1] Paris has two million people.",
        "https://example.org/a",
        "**Capital:** Paris",
        "**Paris**",
        "# Paris is the capital of France.",
        "巴黎是法国首都。",
    ],
)
def test_an_assertion_is_a_claim(text: str) -> None:
    found = claims(text)
    assert [(claim.is_claim, claim.reason) for claim in found] == [(True, "")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hello!", "greeting"),
        ("Hi there!", "greeting"),
        ("Good morning.", "greeting"),
        ("Thank you for your question.", "greeting"),
        ("That's a great question!", "greeting"),
        ("Sure!", "greeting"),
        ("You're welcome!", "greeting"),
        ("Best regards", "greeting"),
        ("Sorry for the confusion.", "greeting"),
        ("Yes.", "bare yes or no"),
        ("No", "bare yes or no"),
        ("# Overview", "heading"),
        ("Overview\n---", "heading"),
        ("-", "list marker"),
        ("2)", "list marker"),
        ("Is it open?", "question"),
        ('"Why?"', "question"),
        ("它开放吗？", "question"),
        ("هل هو مفتوح؟", "question"),
        ("Let me know if you have any other questions.", "offer of help"),
        ("If you need more details, feel free to ask!", "offer of help"),
        ("Would you like me to go on?", "offer of help"),
        ("Is there anything else I can help you with?", "offer of help"),
        ("I hope this helps!", "offer of help"),
        ("Please provide more context.", "offer of help"),
        ("Here are the main points:", "lead-in"),
        ("Sure, here is a summary of the museum's history:", "lead-in"),
        ("Here is the answer.", "lead-in"),
        ("The main points are:", "lead-in"),
        ("Key points:", "lead-in"),
        ("**Opening hours:**", "lead-in"),
        ("Based on the provided context:", "lead-in"),
        ("Based on the context, here is the answer:", "lead-in"),
        ("In summary,", "lead-in"),
        ("Sources:", "lead-in"),
        ("```\nprint(1)\n```", "code"),
        ("[1]", "citation marker"),
        ("[1][2], [3]", "citation marker"),
        ("(Source: doc 3)", "citation marker"),
        ("【4†source】", "citation marker"),
        ("[1]: https://a.b/c", "citation marker"),
        ("...", "no words"),
        ("😀", "no words"),
        ("I don't know.", "refusal"),
        ("The documents do not contain information about X.", "refusal"),
    ],
)
def test_what_asserts_nothing_is_no_claim_and_says_why(text: str, reason: str) -> None:
    found = claims(text)
    assert [(claim.is_claim, claim.reason) for claim in found] == [(False, reason)]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I don’t know.",
        "I do not know who built it.",
        "I'm not sure.",
        "I cannot answer that based on the provided context.",
        "I'm sorry, but I can't help with that.",
        "I'm afraid I don't know.",
        "Sorry, I was unable to find the answer.",
        "The documents do not contain information about X.",
        "The provided context does not mention when it opened.",
        "Unfortunately, the given documents don't provide enough information to answer the question.",
        "None of the documents mention the year.",
        "There is no information in the context about opening hours.",
        "The Louvre's budget is not mentioned in the context.",
        "The question cannot be answered from the context.",
        "The answer is not in the provided context.",
        "The text says nothing about dogs.",
        "I don't have enough information to answer.",
        "As an AI language model, I cannot give medical advice.",
        "Not enough information.",
        "No information is available.",
        "Unknown.",
        "N/A",
        "Hello! I don't know. Would you like to ask something else?",
        "- I don't know.\n- The documents do not say.",
        "> I don't know.",
        "**I don't know.**",
        "I can't tell you the price because the document doesn't state it.",
        "Based on the context, I cannot answer the question.",
    ],
)
def test_a_text_that_only_declines_is_a_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "Hello!",
        "Paris",
        "I don't know. Paris is the capital, though.",
        "I cannot answer that fully. The tower is 330 m tall.",
        "The documents do not contain a date. The tower opened in 1889.",
        "I don't know the exact year, but it was founded under Napoleon.",
        "Sorry, the museum is closed on Mondays.",
        "He does not know the answer.",
        "Is it open?",
    ],
)
def test_a_text_with_an_answer_or_without_a_refusal_is_none(text: str) -> None:
    assert not is_refusal(text)


REFUSALS = {
    "czech": ["Nevím.", "Kontext neobsahuje tuto informaci.", "Bohužel na tuto otázku nemohu odpovědět."],
    "danish": ["Det ved jeg ikke.", "Konteksten nævner ikke datoen.", "Desværre kan jeg ikke svare på det."],
    "dutch": [
        "Ik weet het niet.",
        "De context bevat geen informatie.",
        "Helaas kan ik deze vraag niet beantwoorden.",
    ],
    "estonian": ["Ma ei tea.", "Kontekst ei sisalda seda infot."],
    "finnish": ["En tiedä.", "Konteksti ei sisällä tietoa tästä.", "Valitettavasti en voi vastata tähän."],
    "french": [
        "Je ne sais pas.",
        "Désolé, le contexte ne mentionne pas la date.",
        "Je ne peux pas répondre.",
    ],
    "german": [
        "Ich weiß es nicht.",
        "Leider enthält der Text keine Angaben dazu.",
        "Das kann ich nicht beantworten.",
    ],
    "greek": ["Δεν ξέρω.", "Το κείμενο δεν αναφέρει την ημερομηνία."],
    "italian": ["Non lo so.", "Il contesto non fornisce informazioni.", "Mi dispiace, non posso rispondere."],
    "malayalam": ["എനിക്ക് അറിയില്ല."],
    "norwegian": ["Jeg vet ikke.", "Konteksten nevner ikke datoen."],
    "polish": ["Nie wiem.", "Tekst nie zawiera informacji na ten temat."],
    "portuguese": ["Não sei.", "O contexto não menciona a data.", "Infelizmente, não posso responder."],
    "russian": ["Я не знаю.", "В тексте нет информации об этом.", "К сожалению, я не могу ответить."],
    "slovene": ["Ne vem.", "Besedilo ne vsebuje te informacije."],
    "spanish": ["No lo sé.", "El contexto no menciona la fecha.", "Lo siento, pero no puedo responder."],
    "swedish": ["Jag vet inte.", "Texten nämner inte datumet.", "Tyvärr kan jag inte svara på det."],
    "turkish": ["Bilmiyorum.", "Verilen metinde bu bilgi yer almıyor."],
}


@pytest.mark.parametrize("language", sorted(REFUSALS))
def test_refusals_are_recognised_in_the_language_and_in_english(language: str) -> None:
    assert [text for text in REFUSALS[language] if not is_refusal(text, language)] == []
    assert is_refusal("I don't know.", language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("german", "Er weiß es nicht."),
        ("german", "Ich weiß nicht genau, aber es war 1889."),
        ("german", "Das Museum kann nicht besichtigt werden."),
        ("french", "Le musée n'est pas ouvert."),
        ("spanish", "El museo no abre los lunes."),
        ("russian", "В городе нет метро."),
        ("turkish", "Bu şehirde metro yok."),
        ("italian", "Non è aperto il lunedì."),
    ],
)
def test_an_assertion_with_a_no_in_it_is_no_refusal(language: str, text: str) -> None:
    assert not is_refusal(text, language)
    assert [claim.is_claim for claim in claims(text, language)] == [True]


def test_all_pieces_come_in_order_with_their_offsets() -> None:
    text = "Sure! Here are the facts:\n\n1. Paris is big.\n2. Is it old?\n\nLet me know if you need more."
    found = claims(text)
    assert reasons(text) == ["greeting", "lead-in", "", "question", "offer of help"]
    assert [text[claim.start : claim.end] for claim in found] == [claim.text for claim in found]
    assert [(span.text, span.start, span.end) for span in sentences(text)] == [
        (claim.text, claim.start, claim.end) for claim in found
    ]


def test_a_list_item_under_its_lead_in_keeps_its_own_span() -> None:
    text = "Here are the capitals:\n- Paris\n- Rome"
    assert [(claim.text, claim.start, claim.is_claim) for claim in claims(text)] == [
        ("Here are the capitals:", 0, False),
        ("Paris", 25, True),
        ("Rome", 33, True),
    ]


def test_the_sentences_of_a_list_item_are_decided_one_by_one() -> None:
    text = "- Is it open? Yes, on Mondays.\n- Is it? Really?\n- Paris. Why?"
    assert reasons(text) == ["question", "", "question", "question", "", "question"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("See [the site](https://a.b/c).", "See the site."),
        ("Paris is **large**.[1]", "Paris is large."),
        ("Here are the capitals:\n- Paris", "Here are the capitals: Paris"),
        ("Here are the facts:\n- Rome is the capital of Italy.", "Rome is the capital of Italy."),
        ("The EU was founded by these:\n\n1. France", "The EU was founded by these: France"),
        ("## Population\n- 2 million", "Population: 2 million"),
        ("## Population\n- It is 2 million now.", "It is 2 million now."),
        ("Steps:\n1. Open:\n   - the door", "Steps: Open: the door"),
        ("- France\n  - Paris", "France: Paris"),
        ("We need: 1. milk, 2. bread", "We need: bread"),
        ("| City | People |\n|---|---|\n| Paris | 2 million |", "City: Paris; People: 2 million"),
        ("- One\n- Two\n\nText.", "Text."),
        ('{"city": "Paris. Big."}', '{"city": "Paris. Big."}'),
    ],
)
def test_the_judge_reads_a_claim_with_what_it_needs(text: str, said: str) -> None:
    assert claims(text)[-1].judge_text == said


def test_an_item_that_is_not_below_another_has_not_its_lead_in() -> None:
    found = claims("Cities:\n- France\n  - Paris\n- Oslo\n\nRome.")
    assert [claim.judge_text for claim in found] == [
        *("Cities:", "Cities: France", "Cities: France: Paris", "Cities: Oslo", "Rome."),
    ]
    assert [claim.lead_in for claim in found] == ["", "Cities:", "Cities: France:", "Cities:", ""]


def test_a_claim_whose_subject_points_back_knows_the_sentence_before() -> None:
    found = claims("The tower opened in 1889. It is tall. Paris is big.\n\nIt is old.")
    assert [claim.before for claim in found] == ["", "The tower opened in 1889.", "", ""]
    (_, german) = claims("Der Turm ist alt. Er ist hoch.", "german")
    assert german.before == "Der Turm ist alt."


def test_code_is_left_out_or_taken_whole() -> None:
    text = "```\na = 1. B\nc\n```"
    assert [(claim.is_claim, claim.reason) for claim in claims(text)] == [(False, "code")]
    (claim,) = claims(text, code="whole")
    assert (claim.is_claim, claim.judge_text) == (True, "a = 1. B\nc")
    with pytest.raises(UnknownNameError, match="unknown code mode 'all'"):
        claims(text, code="all")


def test_a_value_of_json_is_one_claim() -> None:
    assert reasons('{"answer": "Paris. It is big.", "n": [1, 2]}') == [""]
    assert reasons('{"answer": "Paris. It is big.", "n": [1, 2}') == ["", ""]


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("german", "Guten Tag!", "greeting"),
        ("german", "Hier ist die Zusammenfassung:", "lead-in"),
        ("german", "Lassen Sie mich wissen, wenn Sie weitere Fragen haben.", "offer of help"),
        ("german", "Ja.", "bare yes or no"),
        ("german", "Hello!", "greeting"),
        ("french", "Merci beaucoup !", "greeting"),
        ("french", "Voici la réponse :", "lead-in"),
        ("french", "Est-ce vrai ?", "question"),
        ("spanish", "¡Hola!", "greeting"),
        ("spanish", "¿Es verdad?", "question"),
        ("greek", "Είναι αλήθεια;", "question"),
        ("italian", "Spero che questo sia utile.", "offer of help"),
        ("russian", "Здравствуйте!", "greeting"),
        ("polish", "Oto odpowiedź:", "lead-in"),
        ("turkish", "Merhaba!", "greeting"),
        ("czech", "Ano.", "bare yes or no"),
    ],
)
def test_other_languages_have_their_formulas(language: str, text: str, reason: str) -> None:
    assert [claim.reason for claim in claims(text, language)] == [reason]


def test_a_table_row_is_one_claim_and_its_header_is_none() -> None:
    assert reasons("| City | People |\n|---|---|\n| Paris | 2 million |") == ["heading", ""]


def test_a_bold_line_is_a_heading_only_between_other_pieces() -> None:
    assert reasons("**Paris**\n\nIt is the capital.") == ["", ""]
    assert reasons("Paris is old.\n\n**History**\n\nIt began early.") == ["", "heading", ""]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.text(st.characters())))
def test_any_text_gets_a_decision(text: str) -> None:
    found = claims(text)
    assert found == claims(text)
    assert all(claim.is_claim == (claim.reason == "") for claim in found)
    assert all(claim.text == text[claim.start : claim.end] for claim in found)
    assert isinstance(is_refusal(text), bool)


@pytest.mark.parametrize(
    "unit",
    [
        "I cannot answer ",
        "Here is ",
        "If you have let me know ",
        "the provided ",
        "[1] ",
        "sorry, ",
        "it is not ",
    ],
)
def test_deciding_about_long_repeats_is_quick(unit: str) -> None:
    text = (unit * (590 // len(unit)) + "x.\n\n") * 100
    began = time.perf_counter()
    claims(text)
    assert time.perf_counter() - began < 5
